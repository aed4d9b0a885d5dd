/** The state of a measure: normal, should be checked, needs action now, or not known. */
export type State = 'ok' | 'warning' | 'critical' | 'unknown';

/** The assessment of a measure: its state, what is normal, and what to do. `advice` is empty if the state is `ok` or `unknown`. */
export interface Assessment {
  state: State;
  normal: string;
  advice: string;
}

/** One row of a table: its name, its current value, the values of the last hour, and its assessment. */
export interface Row {
  name: string;
  now: string;
  /** The highest value of each half minute, oldest first; null if it was not known. Empty if there is nothing to draw. */
  lastHour: readonly (number | null)[];
  assessment: Assessment;
}

/** The ids of the tables of the overview. */
export type GroupId = 'messages' | 'sockets' | 'queues' | 'outbox' | 'slowest' | 'errors' | 'stores';

/** What ops answers to `GET /overview.json`: the rows of every table, and how long ago the metrics were collected, in milliseconds. */
export interface Overview {
  ageMs: number;
  groups: Record<GroupId, readonly Row[]>;
}

const ranks: readonly State[] = ['ok', 'unknown', 'warning', 'critical'];

/** The worst of `states`; `ok` when there are none. */
export const worstOf = (states: readonly State[]): State => ranks[Math.max(0, ...states.map((state) => ranks.indexOf(state)))] ?? 'ok';
