import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** What axe-core finds wrong with a page as it stands, one line each. The window must have been opened with `bypassCSP`. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.addScriptTag({ content: axe });
  return page.evaluate<string[]>(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`);
}

/** The elements of a page that reach beyond its window, as far as that makes the page wider: none where it fits. */
export const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('*')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.tagName + ' ' + one.className + ' ' + Math.round(one.getBoundingClientRect().right)).slice(0, 10)`);
