import { queues } from '../../lib/contract/jobs.ts';
import { type Html, html } from './html.ts';
import { renderPage } from './layout.ts';

/** The tables of the page, in order: id, heading, description, and the text that is shown while the table is empty. The script finds them by id. */
const groups = [
  [
    'messages',
    'Messages',
    'Messages sent to the gateway, and how long they took to reach bots’ sockets: the median (p50), the 95th and the 99th percentile (p95, p99).',
    'No data yet.',
  ],
  ['sockets', 'Sockets', 'Open gateway sockets by node.', 'No data yet.'],
  ['queues', 'Queues', html`Waiting jobs and the age of the oldest. See <a href="#about-queues">what each queue does</a>.`, 'No data yet.'],
  ['outbox', 'Outbox', 'Stored events that have not been delivered yet. They are never lost, but may be late.', 'No data yet.'],
  [
    'slowest',
    'Slowest endpoints',
    'The slowest API routes and Interactions Endpoints of the last 5 minutes, by 95th percentile (p95).',
    'No requests in the last 5 minutes.',
  ],
  ['errors', 'Errors', 'Shares of requests and jobs in the last 5 minutes.', 'No data yet.'],
  ['stores', 'Processes and stores', 'The processes, the database and Redis.', 'No data yet.'],
] as const;

const columns = ['Measure', 'Now', 'Last hour', 'State', 'Normal values and what to do'];

// The roles are explicit, because on small screens the cells are not laid out as a table, and browsers then drop the implicit roles.
const table = ([id, heading, description, none]: (typeof groups)[number]): Html => html`
<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading} <span id="${id}-state"></span></h2>
<p>${description}</p>
<p id="${id}-none" class="none">${none}</p>
<table role="table" hidden>
<caption>${heading}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th scope="col" role="columnheader">${column}</th>`)}</tr></thead>
<tbody role="rowgroup"></tbody>
</table>
</section>`;

const queueTexts = Object.entries(queues).map(
  ([name, { description, normal, whenGrowing }]) => html`
<div id="queue-${name}">
<dt>${name}</dt>
<dd><p>${description}</p><p><b>Normal:</b> ${normal}</p><p><b>When it grows:</b> ${whenGrowing}</p></dd>
</div>`,
);

/** The overview as HTML without values: its script reads them from `/overview.json`. */
export const overview = renderPage({
  current: '/',
  head: html`<script type="module" src="/page/main.js"></script>
`,
  main: html`<div class="top">
<span id="state"></span>
<p id="summary" role="status">Loading metrics…</p>
<p class="reading"><span id="read-at"></span> <button id="pause" type="button" aria-pressed="false" hidden>Pause</button></p>
<noscript><p>This page needs JavaScript. Without it, see <a href="/readyz">the readiness</a>.</p></noscript>
</div>
${groups.map(table)}
<section id="about-queues" aria-labelledby="about-queues-heading">
<h2 id="about-queues-heading">What the queues do</h2>
<p>If a job is lost, its work is not: the work is stored in the database, and a periodic sweep finds it.</p>
<dl>${queueTexts}
</dl>
</section>`,
});
