import { listOperatorAudit } from '../../../lib/domain/operators/audit.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import { type Html, html } from '../html.ts';
import { renderLink, renderName, renderNextPage, renderSection, renderTable, renderTime } from './views.ts';

const paths: Readonly<Record<string, string>> = { userId: '/people', owner: '/people', serverId: '/servers' };

/** What a command was given: accounts and servers as links, everything else as text. */
const renderGiven = (given: Readonly<Record<string, unknown>>): Html =>
  html`${Object.entries(given).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const path = paths[name];
    return html`<br>${name}: ${path === undefined ? renderName(text) : renderLink(path, text, text)}`;
  })}`;

/** The page `/audit`: one page of the operators' audit log, newest first, from before the entry `before`. */
export async function renderAudit(platform: OpsPlatform, before: string | undefined): Promise<Html> {
  const { items, next } = await listOperatorAudit(platform, before === undefined ? {} : { before });
  const rows = items.map(({ at, operator, command, given, outcome, targetId }) => [
    renderTime(at.toISOString()),
    renderName(operator),
    html`${command}${renderGiven(given)}`,
    html`${outcome}`,
    html`${targetId ?? 'none'}`,
  ]);
  const table = renderTable('Operators’ audit log', ['When', 'Operator', 'Command', 'Outcome', 'Changed'], rows);
  return renderSection(
    html`Audit log`,
    html`<p>What operators did, here and on the command line. Newest first.</p>
${table}
${renderNextPage('/audit', { before: next })}`,
  );
}
