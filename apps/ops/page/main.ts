import { place, write } from './dom.ts';
import { type Groups, groupsOf, type Row } from './groups.ts';
import { type History, remember } from './history.ts';
import { createReader } from './reading.ts';
import { fillTable, stateMark, stateWords } from './table.ts';
import { type State, worstOf } from './verdict.ts';

/** How often the metrics are read, and how long that may take, in milliseconds. */
const everyMs = 5_000;
const patienceMs = 10_000;

const ids: readonly (keyof Groups)[] = ['messages', 'sockets', 'queues', 'outbox', 'slowest', 'errors', 'stores'];
const tables = ids.map((id) => {
  const table = place(id).querySelector('table');
  const [body] = table?.tBodies ?? [];
  if (!table || !body) throw new Error(`#${id} holds no table`);
  return {
    id,
    table,
    none: place(`${id}-none`),
    mark: place(`${id}-state`),
    show: fillTable(body, id === 'queues' ? queueLink : undefined),
  };
});
const read = createReader();
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const pause = place('pause') as HTMLButtonElement;

let history: History = [];
let lastAt: number | null = null;
let fault: string | null = null;
let timer: number | undefined;
let reading: AbortController | null = null;

/** The link to the description of a queue on the page; null if there is none. */
function queueLink(name: string): string | null {
  return document.getElementById(`queue-${name}`) ? `#queue-${name}` : null;
}

const markState = (into: HTMLElement, state: State): void => {
  if (into.dataset.state !== state) into.replaceChildren(stateMark(state));
  into.dataset.state = state;
};

/** The state and summary at the top of the page. Screen readers read the summary out when it changes, so it names figures but no values. */
function summary(rows: readonly Row[]): [State, string] {
  const named = (state: State): string => rows.flatMap((row) => (row.verdict.state === state ? [row.name] : [])).join(', ');
  if (fault !== null) return ['unknown', `The metrics cannot be loaded: ${fault}. The values below are old.`];
  const [act, look] = [named('act'), named('look')];
  const parts = [...(act ? [`Act now: ${act}.`] : []), ...(look ? [`Check: ${look}.`] : [])];
  return [worstOf(rows.map(({ verdict }) => verdict.state)), parts.join(' ') || 'Everything is normal.'];
}

function show(): void {
  const groups = groupsOf(history);
  for (const { id, table, none, mark, show: showRows } of tables) {
    showRows(groups[id]);
    table.hidden = groups[id].length === 0;
    none.hidden = groups[id].length > 0;
    markState(mark, worstOf(groups[id].map(({ verdict }) => verdict.state)));
  }
  const [state, words] = summary(Object.values(groups).flat());
  markState(place('state'), state);
  write(place('summary'), words);
  document.body.classList.toggle('old', fault !== null);
  document.title = `${state === 'fine' ? '' : `${stateWords[state]} · `}Parlance operations`;
}

function tellTime(): void {
  const last = lastAt === null ? 'Not loaded yet' : `Last updated at ${clock.format(lastAt)}`;
  write(place('read-at'), `${last}; ${pause.getAttribute('aria-pressed') === 'true' ? 'paused' : `every ${everyMs / 1000} seconds`}.`);
}

async function readOnce(): Promise<void> {
  reading = new AbortController();
  const { signal } = reading;
  const late = setTimeout(() => reading?.abort(), patienceMs);
  try {
    // The URL is built from the origin, because the address of the page may contain a password, and `fetch` refuses such a URL.
    const answer = await fetch(new URL('/metrics', location.origin), { signal });
    if (answer.status !== 200)
      throw new Error(
        answer.status === 401 ? 'the password is required again; reload the page' : `the server responded with ${answer.status}`,
      );
    const text = await answer.text();
    lastAt = Date.now();
    history = remember(history, read(text, lastAt));
    fault = null;
  } catch (error) {
    if (document.hidden) return;
    fault = signal.aborted
      ? `no response within ${patienceMs / 1000} seconds`
      : error instanceof TypeError
        ? 'the ops process does not respond'
        : (error as Error).message;
  } finally {
    clearTimeout(late);
    reading = null;
  }
  if (history.length > 0 || fault !== null) show();
}

/** Reads the metrics now and then every 5 s, while the page is visible and not paused. */
async function go(): Promise<void> {
  clearTimeout(timer);
  tellTime();
  if (document.hidden || pause.getAttribute('aria-pressed') === 'true' || reading) return;
  await readOnce();
  tellTime();
  clearTimeout(timer);
  timer = setTimeout(() => void go(), everyMs);
}

pause.addEventListener('click', () => {
  pause.setAttribute('aria-pressed', String(pause.getAttribute('aria-pressed') !== 'true'));
  void go();
});
document.addEventListener('visibilitychange', () => void go());
pause.hidden = false;
void go();
