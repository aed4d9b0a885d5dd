import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Server } from '../../lib/contract/server.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents } from '../harness/parlance.ts';
import { fillServer } from '../harness/seed.ts';
import { violations } from './axe.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

describe('web: the member list', () => {
  let site: Site;
  let owner: Person;
  const recorders: EventRecorder[] = [];
  const open = usePages();

  before(async () => {
    site = await startSite();
    owner = await signUp(site, 'Olga');
  });
  after(() => site?.close());
  afterEach(() => Promise.all(recorders.splice(0).map(({ client }) => client.close())));

  const makeServer = async (residents: number, name: string): Promise<Server> => {
    const { body } = await site.call<Server & Record<string, unknown>>('POST', '/api/servers', { as: owner.as, body: { name } });
    await fillServer(site.platform, body.id, residents, name.toLowerCase());
    return body;
  };
  /** Registers a person and adds them to the server. */
  const makeMember = async (serverId: string, displayName: string): Promise<Person> => {
    const person = await signUp(site, displayName);
    const { body } = await site.call<{ code: string }>('POST', `/api/servers/${serverId}/invites`, { as: owner.as, body: {} });
    await site.call('POST', `/api/invites/${body.code}`, { as: person.as });
    return person;
  };
  const connect = async ({ token }: Person): Promise<void> => {
    recorders.push(await recordEvents(site, token));
  };
  /** Opens the server's page, and records the account ids of each watch frame that it sends. */
  const openList = async (serverId: string, bypassCSP = false): Promise<{ page: Page; watched: string[][] }> => {
    const page = await open(site, owner, { bypassCSP });
    const watched: string[][] = [];
    page.on('websocket', (socket) =>
      socket.on('framesent', ({ payload }) => {
        const frame = JSON.parse(String(payload)) as { op: number; d: { watch: string[] } };
        if (frame.op === 3) watched.push(frame.d.watch);
      }),
    );
    await page.goto(`/servers/${serverId}`);
    await page.getByRole('heading', { name: /^Online —/ }).waitFor();
    return { page, watched };
  };
  const list = (page: Page) => page.locator('.member-list');
  const rowsIn = (page: Page): Promise<number> => list(page).locator('li').count();

  it('of 4,999 members, renders and watches those in view, shows when one of them goes online or offline, and finds any', async () => {
    const server = await makeServer(4_997, 'City');
    const zoe = await makeMember(server.id, '0 Zoe');
    const { page, watched } = await openList(server.id);
    await page.getByRole('heading', { name: 'Offline — 999+' }).waitFor();
    expect(await rowsIn(page)).to.be.lessThan(60);
    await waitUntil(() => watched.length > 0, 'a watch frame');
    // The member who joined last is on the last page.
    for (const heading of [/1999\+/, /2999\+/, /3999\+/, /4998$/]) {
      await list(page).evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.getByRole('heading', { name: /^Offline/ }).waitFor({ state: 'detached' });
      await list(page).evaluate((element) => element.scrollTo(0, 0));
      await page.getByRole('heading', { name: heading }).waitFor();
    }
    expect(await rowsIn(page)).to.be.lessThan(60);
    await waitUntil(() => watched.at(-1)?.includes(zoe.id) ?? false, 'a watch frame with the member in view');
    await connect(zoe);
    await page.getByRole('heading', { name: 'Online — 2' }).waitFor();
    await recorders.splice(0)[0]?.client.close();
    await page.getByRole('heading', { name: 'Offline — 4998' }).waitFor();
    for (const ids of watched) expect(ids.length).to.be.lessThan(100);
    // Members that are not loaded are completed and found, too.
    await page.reload();
    await page.getByRole('textbox', { name: /Message/ }).pressSequentially('@city4900');
    await page.getByRole('option', { name: /City 4900/ }).waitFor();
    await page.goto(`/servers/${server.id}/settings/members`);
    await page.getByText('the first 1,000 members').waitFor();
    await page.getByLabel('Search members').fill('city4990');
    await page.locator('.settings-member').filter({ hasText: 'City 4990' }).waitFor();
  });

  it('of a small server, also keeps members outside of the view up to date', async () => {
    const server = await makeServer(150, 'Town');
    const zoe = await makeMember(server.id, 'Zoe');
    const { page, watched } = await openList(server.id);
    await page.getByRole('heading', { name: 'Offline — 151' }).waitFor();
    await waitUntil(() => watched.at(-1)?.length === 152, 'a watch frame with all members');
    const count = watched.length;
    await list(page).evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByRole('button', { name: 'Zoe' }).waitFor();
    await list(page).evaluate((element) => element.scrollTo(0, 0));
    await page.getByRole('button', { name: 'Zoe' }).waitFor({ state: 'detached' });
    await connect(zoe);
    await page.getByRole('heading', { name: 'Online — 2' }).waitFor();
    await page.getByRole('button', { name: 'Zoe' }).waitFor();
    expect(watched.length).to.equal(count);
  });

  it('moves to every member by keyboard from one tab stop, with positions for screen readers', async () => {
    const server = await makeServer(150, 'Village');
    const { page } = await openList(server.id, true);
    await page.getByRole('heading', { name: 'Offline — 150' }).waitFor();
    await page.getByRole('button', { name: 'Close members' }).focus();
    await page.keyboard.press('Tab');
    const focused = (): Promise<string[]> =>
      page.evaluate<string[]>(`(() => {
        const row = document.activeElement?.closest('li');
        return [row?.textContent ?? '', row?.getAttribute('aria-posinset') ?? '', row?.getAttribute('aria-setsize') ?? ''];
      })()`);
    const steps: [key: string, name: RegExp, position: string][] = [
      ['', /Olga/, '2'],
      ['ArrowDown', /Village 0/, '4'],
      ['ArrowUp', /Olga/, '2'],
      ['End', /Village 99/, '153'],
      ['ArrowUp', /Village 98/, '152'],
      ['Home', /Olga/, '2'],
    ];
    for (const [key, name, position] of steps) {
      if (key) await page.keyboard.press(key);
      await waitUntil(async () => name.test((await focused())[0] ?? ''), `${key} to lead to ${name}, not to ${(await focused()).join()}`);
      expect((await focused()).slice(1), key).to.deep.equal([position, '153']);
    }
    expect(await list(page).locator('button[tabindex="0"]').count()).to.equal(1);
    expect(await violations(page)).to.deep.equal([]);
  });
});
