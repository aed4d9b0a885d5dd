import { drawing, element, write } from './dom.ts';
import type { Row } from './groups.ts';
import { spark } from './spark.ts';
import type { State } from './verdict.ts';

/** The word of each state, and the shape beside it. Thanks to them nobody has to distinguish colors. */
export const stateWords: Record<State, string> = { fine: 'Fine', look: 'Look', act: 'Act', unknown: 'Not known' };
const shapes: Record<State, string> = {
  fine: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1z',
  look: 'M8 1l7.5 14H.5z',
  act: 'M1 1h14v14H1z',
  unknown: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
};

/** Creates the element for a state, with its shape and its word. */
export function stateMark(state: State): HTMLElement {
  const shape = drawing('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, drawing('path', { d: shapes[state] }));
  return element('span', { class: `state ${state}` }, shape, stateWords[state]);
}

interface Line {
  tr: HTMLTableRowElement;
  show(row: Row): void;
}

/** Creates the row of a table. The roles are explicit, because on small screens the cells are not laid out as a table. */
function line(name: string, link: string | null): Line {
  const head = element('th', { scope: 'row', role: 'rowheader' }, link === null ? name : element('a', { href: link }, name));
  const cell = (kind: string): HTMLElement => element('td', { class: kind, role: 'cell' });
  const [now, lately, state, what] = [cell('now'), cell('lately'), cell('how'), cell('what')];
  const [advice, normal] = [element('p', { class: 'advice' }), element('p', { class: 'normal' })];
  what.append(advice, normal);
  let shown: State | null = null;
  return {
    tr: element('tr', { role: 'row' }, head, now, lately, state, what),
    show(row) {
      write(now, row.now);
      lately.replaceChildren(...(row.lately.some((value) => value !== null) ? [spark(row.lately)] : []));
      write(advice, row.verdict.advice);
      advice.hidden = row.verdict.advice === '';
      write(normal, row.verdict.normal);
      if (shown !== row.verdict.state) state.replaceChildren(stateMark(row.verdict.state));
      shown = row.verdict.state;
    },
  };
}

/** Returns a function that shows rows in the body of a table, and updates existing rows in place. `linkOf` returns the link of a row's name. */
export function fillTable(body: HTMLElement, linkOf: (name: string) => string | null = () => null): (rows: readonly Row[]) => void {
  let lines = new Map<string, Line>();
  return (rows) => {
    const known = lines;
    lines = new Map(rows.map((row) => [row.name, known.get(row.name) ?? line(row.name, linkOf(row.name))]));
    for (const row of rows) lines.get(row.name)?.show(row);
    const wanted = [...lines.values()].map(({ tr }) => tr);
    for (const [name, { tr }] of known) if (!lines.has(name)) tr.remove();
    wanted.forEach((tr, at) => {
      if (body.children[at] !== tr) body.insertBefore(tr, body.children[at] ?? null);
    });
  };
}
