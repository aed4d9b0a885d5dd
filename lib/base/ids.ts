/** The epoch of ids: 2015-01-01T00:00:00Z, in Unix milliseconds (docs/behavior/requests.md#ids). */
export const idEpochMs = 1_420_070_400_000;

/** The format of an id in a path or a body. */
export const idPattern = /^[0-9]{19}$/;

/** Whether `text` has the form of an id. */
export const isId = (text: unknown): text is string => typeof text === 'string' && idPattern.test(text);

/** The Snowflake id of a time: milliseconds since `idEpochMs` << 22 | node (0-1023) << 12 | sequence (0-4095), as 19 digits. */
export const composeId = (unixMs: number, node: number, sequence: number): string =>
  ((BigInt(unixMs - idEpochMs) << 22n) | BigInt((node << 12) | sequence)).toString().padStart(19, '0');

/** The time in an id, in Unix milliseconds. */
export const idTimeMs = (id: string): number => Number(BigInt(id) >> 22n) + idEpochMs;

/** Creates ids that never repeat and never go backwards within the process, even if its clock does. */
export interface IdSource {
  /** A new id from the process' own clock. Refuses `unavailable` while the process has no node number. */
  next(): string;
  /** The latest millisecond that is in use. It is passed to the id clock in Redis, so that the clock stays ahead of it. */
  lastMs(): number;
  /** The highest sequence of that millisecond that came from the id clock in Redis; -1 if there is none. */
  lastSequence(): number;
  /** Records that a millisecond is in use. Pass `sequence` only if it came from the id clock in Redis. */
  markUsed(unixMs: number, sequence?: number): void;
}

/**
 * Creates the ids of one process. `node` returns the leased node number of the process, 1-1023, or throws while it has none; number 0 belongs to the id clock
 * in Redis. `now` is the clock in Unix milliseconds.
 */
export function createIds(node: () => number, now: () => number): IdSource {
  let lastMs = 0;
  let sequence = 0;
  let clockSequence = -1;
  const moveTo = (unixMs: number): void => {
    lastMs = unixMs;
    sequence = 0;
    clockSequence = -1;
  };
  return {
    next() {
      const leased = node();
      const ms = now();
      if (ms > lastMs) moveTo(ms);
      else if (++sequence > 4095) moveTo(lastMs + 1);
      return composeId(lastMs, leased, sequence);
    },
    lastMs: () => lastMs,
    lastSequence: () => clockSequence,
    markUsed(unixMs, noted = -1) {
      if (unixMs > lastMs) moveTo(unixMs);
      if (unixMs === lastMs) clockSequence = Math.max(clockSequence, noted);
    },
  };
}
