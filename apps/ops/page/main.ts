import { elementById, setText } from './dom.ts';
import { type GroupId, type Overview, type Row, type State, worstOf } from './rows.ts';
import { fillTable, stateBadge, stateNames } from './table.ts';

/** How often the overview is loaded, how long that may take, and from which age on it is out of date, in milliseconds. */
const intervalMs = 5_000;
const timeoutMs = 10_000;
const maxAgeMs = 30_000;

const ids: readonly GroupId[] = ['messages', 'sockets', 'queues', 'outbox', 'slowest', 'errors', 'stores'];
const tables = ids.map((id) => {
  const table = elementById(id).querySelector('table');
  const [body] = table?.tBodies ?? [];
  if (!table || !body) throw new Error(`#${id} contains no table`);
  return {
    id,
    table,
    none: elementById(`${id}-none`),
    mark: elementById(`${id}-state`),
    show: fillTable(body, id === 'queues' ? queueLink : undefined),
  };
});
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const pause = elementById('pause') as HTMLButtonElement;

let overview: Overview | null = null;
let lastAt: number | null = null;
let failure: string | null = null;
let timer: number | undefined;
let reading: AbortController | null = null;

/** The link to the description of a queue on the page; null if there is none. */
function queueLink(name: string): string | null {
  return document.getElementById(`queue-${name}`) ? `#queue-${name}` : null;
}

const markState = (target: HTMLElement, state: State): void => {
  if (target.dataset.state !== state) target.replaceChildren(stateBadge(state));
  target.dataset.state = state;
};

/** The state and summary at the top of the page. Screen readers read the summary out when it changes, so it names measures but no values. */
function summary(rows: readonly Row[]): [State, string] {
  const named = (state: State): string => rows.flatMap((row) => (row.assessment.state === state ? [row.name] : [])).join(', ');
  if (failure !== null) return ['unknown', `The metrics could not be loaded: ${failure}. The values below are out of date.`];
  const [critical, warning] = [named('critical'), named('warning')];
  const parts = [...(critical ? [`Act now: ${critical}.`] : []), ...(warning ? [`Check: ${warning}.`] : [])];
  return [worstOf(rows.map(({ assessment }) => assessment.state)), parts.join(' ') || 'Everything is normal.'];
}

function show(): void {
  const rowsOf = (id: GroupId): readonly Row[] => overview?.groups[id] ?? [];
  for (const { id, table, none, mark, show: showRows } of tables) {
    showRows(rowsOf(id));
    table.hidden = rowsOf(id).length === 0;
    none.hidden = rowsOf(id).length > 0;
    markState(mark, worstOf(rowsOf(id).map(({ assessment }) => assessment.state)));
  }
  const [state, text] = summary(ids.flatMap(rowsOf));
  markState(elementById('state'), state);
  setText(elementById('summary'), text);
  document.body.classList.toggle('old', failure !== null);
  document.title = `${state === 'ok' ? '' : `${stateNames[state]} · `}Parlance operations`;
}

function showUpdateTime(): void {
  const last = lastAt === null ? 'Not loaded yet.' : `Last updated at ${clock.format(lastAt)}.`;
  setText(
    elementById('read-at'),
    `${last} ${pause.getAttribute('aria-pressed') === 'true' ? 'Paused.' : `Updates every ${intervalMs / 1000} seconds.`}`,
  );
}

async function load(): Promise<void> {
  reading = new AbortController();
  const { signal } = reading;
  const timeout = setTimeout(() => reading?.abort(), timeoutMs);
  try {
    // The URL is built from the origin, because the address of the page may contain a password, and `fetch` refuses such a URL.
    const response = await fetch(new URL('/overview.json', location.origin), { signal });
    if (response.status !== 200)
      throw new Error(
        response.status === 401 ? 'the password is required again; reload the page' : `the server responded with status ${response.status}`,
      );
    overview = (await response.json()) as Overview;
    lastAt = Date.now() - overview.ageMs;
    failure = overview.ageMs > maxAgeMs ? `ops has not collected them for ${Math.round(overview.ageMs / 1000)} seconds` : null;
  } catch (error) {
    if (document.hidden) return;
    failure = signal.aborted
      ? `no response within ${timeoutMs / 1000} seconds`
      : error instanceof TypeError
        ? 'the ops process does not respond'
        : (error as Error).message;
  } finally {
    clearTimeout(timeout);
    reading = null;
  }
  if (overview !== null || failure !== null) show();
}

/** Loads the overview now and then every 5 s, while the page is visible and not paused. */
async function refresh(): Promise<void> {
  clearTimeout(timer);
  showUpdateTime();
  if (document.hidden || pause.getAttribute('aria-pressed') === 'true' || reading) return;
  await load();
  showUpdateTime();
  clearTimeout(timer);
  timer = setTimeout(() => void refresh(), intervalMs);
}

pause.addEventListener('click', () => {
  pause.setAttribute('aria-pressed', String(pause.getAttribute('aria-pressed') !== 'true'));
  void refresh();
});
document.addEventListener('visibilitychange', () => void refresh());
pause.hidden = false;
void refresh();
