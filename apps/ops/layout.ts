import { type Html, html } from './html.ts';

/** The pages that the navigation links to, by path. */
const pages = {
  '/': 'Overview',
  '/people': 'People',
  '/servers': 'Servers',
  '/audit': 'Audit log',
  '/queues': 'Queues',
  '/readyz': 'Readiness',
  '/metrics': 'Metrics',
  '/healthz': 'Health',
} as const;

/** A page: its title, which link of the navigation is current, what it adds to the head, and its content. Without a title it has that of the site. */
interface Page {
  title?: string;
  current: keyof typeof pages;
  head?: Html;
  main: Html;
}

/** A whole page as HTML, in the frame that all operators' pages share. It loads nothing from other hosts, and has no inline script or style. */
export function renderPage({ title, current, head, main }: Page): string {
  const links = Object.entries(pages).map(
    ([path, name]) => html`<li><a href="${path}"${path === current ? html` aria-current="page"` : null}>${name}</a></li>
`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === undefined ? null : `${title} · `}Parlance operations</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
${head ?? null}</head>
<body>
<header>
<h1>Parlance operations</h1>
<nav aria-label="Pages">
<ul>
${links}</ul>
</nav>
</header>
<main>
${main}
</main>
</body>
</html>
`.text;
}
