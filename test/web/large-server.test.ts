import type { Server } from '../../lib/contract/server.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { fillServer } from '../harness/seed.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

describe('web: a server of 2,500 members', () => {
  let site: Site;
  let owner: Person;
  let server: Server;
  const open = usePages();

  before(async () => {
    site = await startSite();
    owner = await signUp(site, 'Olga');
    ({ body: server } = await site.call<Server & Record<string, unknown>>('POST', '/api/servers', {
      as: owner.as,
      body: { name: 'City' },
    }));
    await fillServer(site.platform, server.id, 2_500, 'resident');
  });
  after(() => site?.close());

  it('loads more members whenever the end of the list is reached, up to the last one', async () => {
    const screen = await open(site, owner);
    await screen.goto(`/servers/${server.id}`);
    await screen.getByRole('heading', { name: 'Offline — 999+' }).waitFor();
    const list = screen.locator('.member-list');
    const heightPx = (): Promise<number> => list.evaluate((element) => element.scrollHeight);
    for (const heading of ['Offline — 1999+', 'Offline — 2500']) {
      const before = await heightPx();
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await waitUntil(async () => (await heightPx()) > before, 'more members');
      await list.evaluate((element) => element.scrollTo(0, 0));
      await screen.getByRole('heading', { name: heading, exact: true }).waitFor();
    }
  });

  it('completes a member that is not loaded yet, and finds one in the settings', async () => {
    const screen = await open(site, owner);
    await screen.goto(`/servers/${server.id}`);
    await screen.getByRole('textbox', { name: /Message/ }).pressSequentially('@resident2400');
    await screen
      .getByRole('option', { name: /Resident 2400/ })
      .first()
      .waitFor();
    await screen.goto(`/servers/${server.id}/settings/members`);
    await screen.getByText('the first 1,000 members').waitFor();
    await screen.getByLabel('Search members').fill('resident2499');
    await screen.locator('.settings-member').filter({ hasText: 'Resident 2499' }).waitFor();
  });
});
