import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Returns the violations of `rules` (default: all) that axe-core finds in a page, one line each. The window must be opened with `bypassCSP`. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.addScriptTag({ content: axe });
  return page.evaluate<
    string[]
  >(`axe.run({ resultTypes: ['violations']${rules ? `, runOnly: ${JSON.stringify(rules)}` : ''} }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`);
}

/** Returns the elements that extend beyond the right edge of the window, if the page is wider than the window; otherwise an empty list. */
export const findOverflow = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('*')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.tagName + ' ' + one.className + ' ' + Math.round(one.getBoundingClientRect().right)).slice(0, 10)`);
