import { limits } from '../../../lib/base/limits.ts';
import type { ChangeOutcome } from '../../../lib/domain/operators/changes.ts';
import { type Html, html } from '../html.ts';
import { type Action, type FieldValues, renderActions, renderForm } from './actions.ts';
import type { ListPage, Managed } from './managed.ts';
import { renderName, renderNextPage, renderSearch, renderSection } from './views.ts';

/** The result of an action, at the top of the page that follows it. */
export const renderNotice = (notice: string): Html => html`<p class="notice" role="status">${notice}</p>
`;

/** One page of a list, with the search. */
export function renderList<T extends { id: string }>(
  { path, title, searchLabel }: Managed<T>,
  query: string,
  { table, next }: ListPage,
): Html {
  const more = renderNextPage(path, { query, after: next });
  const search = renderSearch(path, searchLabel, query, limits.operatorTextChars);
  return renderSection(html`${title}`, html`${search}\n${table}\n${more}`);
}

/** The page of an entry, with the links to its actions. */
export function renderEntry<T extends { id: string }>({ path, actions, nameOf, renderDetails }: Managed<T>, entry: T): Html {
  const details = renderSection(renderName(nameOf(entry)), renderDetails(entry));
  return html`${details}\n${renderActions(actions, `${path}/${entry.id}`, entry)}`;
}

/** The form of an action on an entry, with what it is about to change. `error` says why the last try failed. */
export function renderActionForm<T extends { id: string }>(
  { path, noun, nameOf, renderDetails }: Managed<T>,
  entry: T,
  action: Action<T>,
  values: FieldValues,
  error: string | null,
): Html {
  const heading = html`<span>${action.label}: ${renderName(nameOf(entry))}</span>`;
  const form = renderForm(action, `${path}/${entry.id}`, values, error);
  return html`${renderSection(heading, form)}\n${renderSection(html`${noun}`, renderDetails(entry))}`;
}

/** A one-use link. It is text, so that nobody opens it by mistake. */
export const renderOneUseLink = (back: string, { name, sentence }: ChangeOutcome, link: string): Html =>
  renderSection(
    html`Link`,
    html`<p role="status">${name}: ${sentence}</p>
<p><code class="link">${link}</code></p>
<p>It is shown only here and now. <a href="${back}">Back</a></p>`,
  );
