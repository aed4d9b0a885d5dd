import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Site, startSite, usePages } from './browser.ts';

describe('web: the reference for developers', function () {
  this.timeout(180_000);
  let site: Site;
  const open = usePages();
  before(async () => {
    site = await startSite();
  });
  after(() => site?.close());

  const openPage = async (path: string): Promise<Page> => {
    const page = await open(site);
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };

  it('shows every operation without a login, names the page in the title, and the browser’s back returns to the page before', async () => {
    const { body } = await site.call<{ paths: Record<string, Record<string, unknown>> }>('GET', '/api/openapi.json');
    const expected = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const page = await openPage('/developers/reference');
    const groups = page.getByRole('navigation', { name: 'Pages' }).getByRole('list').last().getByRole('link');
    const shown: string[] = [];
    for (const name of await groups.allInnerTexts()) {
      await groups.getByText(name, { exact: true }).first().click();
      await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
      expect(await page.title()).to.equal(`${name} · Parlance for developers`);
      shown.push(...(await page.locator('.ref-endpoint').allInnerTexts()));
      await page.goBack();
      await page.getByRole('heading', { name: 'API reference', level: 1 }).waitFor();
    }
    expect(shown).to.have.members(expected);
  });
});
