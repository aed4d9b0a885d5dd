import { element, setText, svgElement } from './dom.ts';
import type { Row, State } from './rows.ts';
import { drawSparkline } from './sparkline.ts';

/** The name of each state. It is shown with a shape, so that nobody has to distinguish colors. */
export const stateNames: Record<State, string> = { ok: 'OK', warning: 'Warning', critical: 'Critical', unknown: 'Unknown' };
const shapes: Record<State, string> = {
  ok: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1z',
  warning: 'M8 1l7.5 14H.5z',
  critical: 'M1 1h14v14H1z',
  unknown: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
};

/** Creates the element for a state, with its shape and its name. */
export function stateBadge(state: State): HTMLElement {
  const shape = svgElement('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svgElement('path', { d: shapes[state] }));
  return element('span', { class: `state ${state}` }, shape, stateNames[state]);
}

interface TableRow {
  tr: HTMLTableRowElement;
  show(row: Row): void;
}

/** Creates the row of a table. The roles are explicit, because on small screens the cells are not laid out as a table. */
function createRow(name: string, link: string | null): TableRow {
  const head = element('th', { scope: 'row', role: 'rowheader' }, link === null ? name : element('a', { href: link }, name));
  const cell = (kind: string): HTMLElement => element('td', { class: kind, role: 'cell' });
  const [now, recent, state, details] = [cell('now'), cell('recent'), cell('state-cell'), cell('details')];
  const [advice, normal] = [element('p', { class: 'advice' }), element('p', { class: 'normal' })];
  details.append(advice, normal);
  let shown: State | null = null;
  return {
    tr: element('tr', { role: 'row' }, head, now, recent, state, details),
    show(row) {
      setText(now, row.now);
      recent.replaceChildren(...(row.lastHour.some((value) => value !== null) ? [drawSparkline(row.lastHour)] : []));
      setText(advice, row.assessment.advice);
      advice.hidden = row.assessment.advice === '';
      setText(normal, row.assessment.normal);
      if (shown !== row.assessment.state) state.replaceChildren(stateBadge(row.assessment.state));
      shown = row.assessment.state;
    },
  };
}

/** Returns a function that shows rows in the body of a table, and updates existing rows in place. `linkOf` returns the link of a row's name. */
export function fillTable(body: HTMLElement, linkOf: (name: string) => string | null = () => null): (rows: readonly Row[]) => void {
  let shownRows = new Map<string, TableRow>();
  return (rows) => {
    const previous = shownRows;
    shownRows = new Map(rows.map((row) => [row.name, previous.get(row.name) ?? createRow(row.name, linkOf(row.name))]));
    for (const row of rows) shownRows.get(row.name)?.show(row);
    const wanted = [...shownRows.values()].map(({ tr }) => tr);
    for (const [name, { tr }] of previous) if (!shownRows.has(name)) tr.remove();
    wanted.forEach((tr, at) => {
      if (body.children[at] !== tr) body.insertBefore(tr, body.children[at] ?? null);
    });
  };
}
