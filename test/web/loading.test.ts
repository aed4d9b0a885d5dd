import { expect } from 'chai';
import type { DiscoveryPage, DiscoveryServer } from '../../lib/contract/discovery.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: loading', () => {
  const fixture = useWebFixture();

  it('shows when to try again once, loads the page of Discovery again that failed, and keeps the pages before it', async () => {
    const listed = (id: string, name: string): DiscoveryServer => ({
      id,
      name,
      iconUrl: null,
      description: '',
      category: 'gaming',
      tags: [],
      memberCount: 1,
      onlineCount: 0,
      joined: false,
      types: [],
    });
    const pages: Record<string, DiscoveryPage> = {
      0: { items: [listed('1', 'First')], hasMore: true },
      1: { items: [listed('2', 'Second')], hasMore: false },
    };
    const limited = { code: 'rate_limited', message: 'Too many requests. Try again in 7 s.', retryAfter: 7 };
    const offsets: string[] = [];
    const page = await fixture.openPage(fixture.bob);
    await page.route('**/api/discovery/servers*', async (route) => {
      const offset = new URL(route.request().url()).searchParams.get('offset') ?? '';
      offsets.push(offset);
      await route.fulfill(offsets.length === 2 ? { status: 429, json: limited } : { json: pages[offset] });
    });
    await page.goto('/discovery');
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').locator('p').allInnerTexts()).to.deep.equal([limited.message]);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Join Second' }).waitFor();
    await page.getByRole('button', { name: 'Join First' }).waitFor();
    expect(offsets).to.deep.equal(['0', '1', '1']);
  });
});
