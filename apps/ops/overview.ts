import { queues } from '../../lib/contract/jobs.ts';

/** The tables of the page, in its order: the script fills those of these ids. */
const groups = [
  ['messages', 'Messages', 'Messages told to the gateway, and how soon bots had them on their sockets.', 'No figures yet.'],
  ['sockets', 'Sockets', 'Open gateway sockets by node.', 'No figures yet.'],
  [
    'queues',
    'Queues',
    'Jobs that wait, and the age of the oldest. What each is for stands <a href="#about-queues">below</a>.',
    'No figures yet.',
  ],
  [
    'outbox',
    'Outbox',
    'Events that are stored and that nobody has been told of yet: messages are never lost, but may be late.',
    'No figures yet.',
  ],
  [
    'slowest',
    'Slowest endpoints',
    'The API’s slowest routes and applications’ slowest Interactions Endpoints of the last 5 minutes: the time that 95 of 100 kept to.',
    'No request in the last 5 minutes, or since the page was opened.',
  ],
  ['errors', 'Errors', 'Parts of the last 5 minutes, or of the time since the page was opened.', 'No figures yet.'],
  ['stores', 'Stores and workers', 'What everything else stands on.', 'No figures yet.'],
] as const;

const columns = ['What', 'Now', 'Last 5 minutes', 'State', 'What is normal, and what to do'];

// The roles are said, as small screens lay the cells out otherwise than as a table.
const table = ([id, heading, about, none]: (typeof groups)[number]): string => `
<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading} <span id="${id}-state"></span></h2>
<p>${about}</p>
<p id="${id}-none" class="none">${none}</p>
<table role="table" hidden>
<caption>${heading}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => `<th scope="col" role="columnheader">${column}</th>`).join('')}</tr></thead>
<tbody role="rowgroup"></tbody>
</table>
</section>`;

const queueTexts = Object.entries(queues).map(
  ([name, { about, normal, grows }]) => `
<div id="queue-${name}">
<dt>${name}</dt>
<dd><p>${about}</p><p><b>Normal:</b> ${normal}</p><p><b>When it grows:</b> ${grows}</p></dd>
</div>`,
);

/** The overview as HTML, without any figure: its script reads them from `/metrics`. Needs nothing from outside, and no script or style stands in it. */
export const overview = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Parlance operations</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
<script type="module" src="/page/main.js"></script>
</head>
<body>
<header>
<h1>Parlance operations</h1>
<nav aria-label="Pages">
<ul>
<li><a href="/" aria-current="page">Overview</a></li>
<li><a href="/queues">Queues</a></li>
<li><a href="/readyz">Readiness</a></li>
<li><a href="/metrics">Metrics</a></li>
<li><a href="/healthz">Health</a></li>
</ul>
</nav>
</header>
<main>
<div class="top">
<span id="state"></span>
<p id="summary" role="status">Reading the measurements.</p>
<p class="reading"><span id="read-at"></span> <button id="pause" type="button" aria-pressed="false" hidden>Pause</button></p>
<noscript><p>The figures need JavaScript. Without it, <a href="/metrics">the metrics</a> tell the same.</p></noscript>
</div>
${groups.map(table).join('')}
<section id="about-queues" aria-labelledby="about-queues-heading">
<h2 id="about-queues-heading">What the queues are for</h2>
<p>Losing a job loses nothing: what is to be done stands in the database, and a sweep finds what nobody was nudged about.</p>
<dl>${queueTexts.join('')}
</dl>
</section>
</main>
</body>
</html>
`;
