import { bytesPerMib } from '../../../lib/base/limits.ts';
import { type Html, html } from '../html.ts';

const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** A size in MiB. */
export const formatSize = (bytes: number): string => `${oneDecimal.format(bytes / bytesPerMib)} MiB`;

/** A point in time, in UTC because the page has no script that knows the time zone of its reader; `never` for null. */
export const renderTime = (at: string | null): Html =>
  at === null ? html`never` : html`<time datetime="${at}">${at.slice(0, 16).replace('T', ' ')} UTC</time>`;

/** A name that a user chose. Marks in it that change the direction of text do not affect the text around it. */
export const renderName = (name: string): Html => html`<bdi>${name}</bdi>`;

/** A link to the page of an account or a server, with its name. */
export const renderLink = (path: string, id: string, name: string): Html => html`<a href="${path}/${id}">${renderName(name)}</a>`;

/** A list of links separated by commas; `none` for an empty list. */
export const joinLinks = (links: readonly Html[]): Html =>
  links.length === 0 ? html`none` : html`${links.map((link, at) => (at === 0 ? link : html`, ${link}`))}`;

/** A table. The first cell of a row is its heading. On small screens each cell is shown with the name of its column, so that the roles are explicit. */
export const renderTable = (caption: string, columns: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  rows.length === 0
    ? html`<p class="none">None.</p>`
    : html`<table role="table" class="list">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th scope="col" role="columnheader">${column}</th>`)}</tr></thead>
<tbody role="rowgroup">
${rows.map(
  (cells) => html`<tr role="row">${cells.map((cell, at) =>
    at === 0 ? html`<th scope="row" role="rowheader">${cell}</th>` : html`<td role="cell" data-label="${columns[at] ?? ''}">${cell}</td>`,
  )}</tr>
`,
)}</tbody>
</table>`;

/** Names with their values. */
export const renderFacts = (facts: Readonly<Record<string, Html | string | number>>): Html =>
  html`<dl class="facts">${Object.entries(facts).map(
    ([name, value]) => html`
<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}
</dl>`;

/** The link to the next page of a list: `path` with `parameters`. Nothing on the last page, where a parameter is null. */
export function renderNextPage(path: string, parameters: Readonly<Record<string, string | null>>): Html | null {
  const given = Object.entries(parameters).filter((one): one is [string, string] => one[1] !== null && one[1] !== '');
  return Object.values(parameters).includes(null)
    ? null
    : html`<p><a href="${path}?${new URLSearchParams(given).toString()}">Next page</a></p>`;
}

/** The form that searches a list. */
export const renderSearch = (
  path: string,
  label: string,
  query: string,
  maxChars: number,
): Html => html`<form class="search" action="${path}">
<label for="query">${label}</label>
<input id="query" name="query" type="search" value="${query}" maxlength="${maxChars}" autocomplete="off" spellcheck="false" autocapitalize="none">
<button>Search</button>
</form>`;

/** The heading of a page with what is below it. */
export const renderSection = (heading: Html, content: Html): Html => html`<section>
<h2>${heading}</h2>
${content}
</section>`;
