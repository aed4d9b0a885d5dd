import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import type { DiscoveryPage, DiscoveryServer } from '../../lib/contract/discovery.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: loading', () => {
  const fixture = useWebFixture();

  it('lets the overwrite of a member be edited only once the members are loaded', async () => {
    const { ada, bob, server } = fixture;
    const channelId = await fixture.newChannel('overwrites');
    const overwrite = { allow: 0, deny: permissionBits['Add Reactions'] };
    await fixture.request(ada, 'PUT', `/api/channels/${channelId}/overwrites/${bob.id}`, overwrite);
    const page = await fixture.openPage(ada);
    let loadMembers: () => void = () => undefined;
    const held = new Promise<void>((go) => (loadMembers = go));
    await page.route(`**/api/servers/${server.id}/members*`, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`/servers/${server.id}/settings/channels?channel=${channelId}`);
    await page.getByLabel('Role or member').selectOption(bob.id);
    const deny = page.getByRole('group', { name: 'Add Reactions' }).getByLabel('Deny');
    const notice = page.getByText('The members are still loading.').first();
    await notice.waitFor();
    expect(await deny.isDisabled()).to.equal(true);
    loadMembers();
    await notice.waitFor({ state: 'detached' });
    expect(await deny.isEnabled()).to.equal(true);
  });

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
