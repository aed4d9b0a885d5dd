import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { everyoneDefault, permissionBits, toPermissionNames } from '../../lib/base/permissions.ts';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Member } from '../../lib/contract/member.ts';
import type { Role, Server } from '../../lib/contract/server.ts';
import type { Webhook } from '../../lib/contract/webhook.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

/** A PNG image of one pixel. */
const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

describe('web: server settings', () => {
  let site: Site;
  let owner: Person;
  let mod: Person;
  let guest: Person;
  let server: Server;
  let general: Channel;
  const open = usePages();

  const create = async <T>(as: Person, path: string, body: unknown): Promise<T> =>
    (await site.call<T & Record<string, unknown>>('POST', path, { as: as.as, body })).body;
  const load = async <T>(path: string): Promise<T> => (await site.call<T & Record<string, unknown>>('GET', path, { as: owner.as })).body;
  const openSettings = async (as: Person, page = ''): Promise<Page> => {
    const screen = await open(site, as);
    await screen.goto(`/servers/${server.id}/settings${page}`);
    return screen;
  };
  const pagesOf = (screen: Page): Promise<string[]> =>
    screen.getByRole('navigation', { name: 'Settings' }).getByRole('link').allInnerTexts();

  before(async () => {
    site = await startSite();
    [owner, mod, guest] = [await signUp(site, 'Olga'), await signUp(site, 'Mo'), await signUp(site, 'Gus')];
    server = await create<Server>(owner, '/api/servers', { name: 'Harbour' });
    general = server.channels.find(({ kind }) => kind === 'text') as Channel;
    const { code } = await create<{ code: string }>(owner, `/api/servers/${server.id}/invites`, {});
    for (const one of [mod, guest]) await create(one, `/api/invites/${code}`, {});
    const permissions = permissionBits['Manage Roles'] | permissionBits['Kick Members'];
    const role = await create<Role>(owner, `/api/servers/${server.id}/roles`, { name: 'Keepers', permissions });
    await site.call('PUT', `/api/servers/${server.id}/members/${mod.id}/roles/${role.id}`, { as: owner.as });
  });
  after(() => site?.close());

  it('offers only the pages that the user may use, and removes them with the permission', async () => {
    const nobody = await openSettings(guest);
    await nobody.getByRole('heading', { name: 'About', level: 2 }).waitFor();
    expect(await pagesOf(nobody)).to.deep.equal(['About']);
    const some = await openSettings(mod);
    await some.getByRole('heading', { name: 'Channels', level: 2 }).waitFor();
    expect(await pagesOf(some)).to.deep.equal(['Channels', 'Roles', 'Members', 'About']);
    const { roles } = await load<Member>(`/api/servers/${server.id}/members/${mod.id}`);
    const at = `/api/servers/${server.id}/members/${mod.id}/roles/${roles[0]}`;
    await site.call('DELETE', at, { as: owner.as });
    await some.getByRole('heading', { name: 'About', level: 2 }).waitFor();
    expect(await pagesOf(some)).to.deep.equal(['About']);
    await site.call('PUT', at, { as: owner.as });
  });

  it('shows a new name and icon to others at once, and keeps unedited fields up to date', async () => {
    const [screen, other] = [await openSettings(owner, '/overview'), await openSettings(guest)];
    await screen.getByRole('textbox', { name: 'Name', exact: true }).fill('Old harbour');
    await site.call('PATCH', `/api/servers/${server.id}`, { as: owner.as, body: { invitesPaused: true } });
    await screen.getByRole('checkbox', { name: 'Pause invites', checked: true }).waitFor();
    await screen.getByRole('button', { name: 'Save' }).click();
    await other.getByRole('heading', { name: 'Old harbour', level: 1 }).waitFor();
    await screen.locator('input[type=file]').setInputFiles({ name: 'icon.png', mimeType: 'image/png', buffer: pixel });
    await other.locator('.about-server img').waitFor();
    await screen.locator('input[type=file]').setInputFiles({ name: 'no.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await screen.getByRole('alert').waitFor();
    await screen.getByRole('button', { name: 'Remove' }).click();
    await other.locator('.about-server img').waitFor({ state: 'detached' });
    await site.call('PATCH', `/api/servers/${server.id}`, { as: owner.as, body: { invitesPaused: false } });
  });

  it('creates a private channel, which a member sees only while its overwrites allow it', async () => {
    const [screen, other] = [await openSettings(owner, '/channels'), await openSettings(guest)];
    await screen.getByRole('button', { name: 'Create channel' }).click();
    await screen.getByRole('textbox', { name: 'Name', exact: true }).fill('quay');
    await screen.getByRole('checkbox', { name: 'Private channel' }).check();
    await screen.getByRole('button', { name: 'Create', exact: true }).click();
    await screen.getByRole('textbox', { name: 'Message quay' }).waitFor();
    // Events arrive in order: when this later channel is shown, an event about the private one would have arrived, too.
    await create(owner, `/api/servers/${server.id}/channels`, { name: 'deck', kind: 'text' });
    const channels = other.getByRole('navigation', { name: 'Channels' });
    await channels.getByText('deck').waitFor();
    const listed = channels.getByText('quay');
    expect(await listed.count()).to.equal(0);
    await screen.goto(`/servers/${server.id}/settings/channels`);
    await screen.getByRole('link', { name: 'Edit quay' }).click();
    const view = screen.getByRole('group', { name: 'View Channel' });
    expect(await view.getByLabel('Deny').isChecked()).to.equal(true);
    await view.getByLabel('Inherit from roles').check();
    await screen.getByRole('button', { name: 'Save' }).last().click();
    await listed.waitFor();
    await view.getByLabel('Deny').check();
    await screen.getByRole('button', { name: 'Save' }).last().click();
    await listed.waitFor({ state: 'detached' });
    await view.getByLabel('Inherit from roles').check();
    await screen.getByRole('button', { name: 'Save' }).last().click();
    await listed.waitFor();
    await screen.getByRole('textbox', { name: 'Topic' }).fill('Ropes and knots');
    await screen.getByRole('button', { name: 'Save' }).first().click();
    const quay = async (): Promise<Channel | undefined> =>
      (await load<Server>(`/api/servers/${server.id}`)).channels.find(({ name }) => name === 'quay');
    await waitUntil(async () => (await quay())?.topic === 'Ropes and knots', 'the topic');
    expect((await quay())?.overwrites).to.deep.equal([]);
  });

  it('allows granting only own permissions and editing only lower roles, and shows the order after a move', async () => {
    const low = await create<Role>(owner, `/api/servers/${server.id}/roles`, { name: 'Deckhands' });
    const screen = await openSettings(mod, '/roles');
    await screen.getByRole('link', { name: 'View Keepers' }).waitFor();
    await screen.getByRole('link', { name: 'Edit Deckhands' }).click();
    await screen.getByRole('checkbox', { name: 'Ban Members' }).waitFor();
    expect(await screen.getByRole('checkbox', { name: 'Ban Members' }).isDisabled()).to.equal(true);
    await screen.getByRole('checkbox', { name: 'Kick Members' }).check();
    await screen.getByRole('button', { name: 'Save' }).click();
    await screen.getByText('Changes saved.').waitFor();
    expect((await load<Role[]>(`/api/servers/${server.id}/roles`)).find(({ id }) => id === low.id)?.permissions).to.equal(
      permissionBits['Kick Members'],
    );
    const owners = await openSettings(owner, '/roles');
    await owners.getByRole('button', { name: 'Move Deckhands up' }).click();
    for (const one of [owners, screen]) {
      if (one === screen) await one.goto(`/servers/${server.id}/settings/roles`);
      await one.locator('.settings-list li:first-child').getByText('Deckhands').waitFor();
      expect(await one.locator('.settings-list strong').allInnerTexts()).to.deep.equal(['Deckhands', 'Keepers', '@everyone']);
    }
    await screen.getByRole('link', { name: 'View Deckhands' }).waitFor();
  });

  it('assigns a role, bans with a reason and unbans a member, and lists the ban in the audit log', async () => {
    const screen = await openSettings(owner, '/members');
    await screen.getByRole('button', { name: 'Roles of Gus' }).click();
    await screen.getByRole('checkbox', { name: 'Deckhands' }).check();
    await screen.getByRole('button', { name: 'Close' }).click();
    await screen.locator('.settings-member').filter({ hasText: 'Gus' }).getByText('Deckhands').waitFor();
    await screen.getByRole('button', { name: 'Ban Gus' }).click();
    await screen.getByLabel('Reason (optional)').fill('Sank the boat');
    await screen.getByRole('button', { name: 'Ban', exact: true }).last().click();
    await screen.locator('.settings-member').filter({ hasText: 'Gus' }).waitFor({ state: 'detached' });
    await screen.getByRole('link', { name: 'Bans' }).click();
    await screen.getByText('Sank the boat').waitFor();
    await screen.getByRole('link', { name: 'Audit log' }).click();
    await screen.getByText('Olga banned Gus').waitFor();
    await screen.getByText('Reason: Sank the boat').waitFor();
    await screen.getByLabel('Filter entries').fill('lounge');
    await screen.getByText('Olga banned Gus').waitFor({ state: 'detached' });
    await screen.getByRole('link', { name: 'Bans' }).click();
    await screen.getByRole('button', { name: 'Unban Gus' }).click();
    await screen.getByRole('button', { name: 'Unban', exact: true }).click();
    await screen.getByText('Nobody is banned.').waitFor();
  });

  it('creates an invite from the channel list, accepts it, lists and revokes it', async () => {
    const screen = await openSettings(owner, '/invites');
    await screen.getByRole('button', { name: 'Invite people' }).click();
    await screen.getByLabel('Maximum uses').selectOption({ label: '1 use' });
    await screen.getByRole('button', { name: 'Create link' }).click();
    const link = await screen.locator('.made-invite code').innerText();
    expect(link).to.match(new RegExp(`^${site.origin}/invite/\\w+$`));
    const back = await open(site, guest);
    await back.goto(link);
    await back.getByRole('button', { name: /Join/ }).click();
    await back.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    await screen.getByRole('button', { name: 'Close' }).click();
    await screen.getByRole('button', { name: /Revoke/ }).click();
    await screen.getByRole('button', { name: 'Revoke', exact: true }).last().click();
    await screen.getByText('There are no active invites.').waitFor();
  });

  it('hides the URL of a webhook until it is revealed, lists deliveries and resets the URL', async () => {
    const screen = await openSettings(owner, '/webhooks');
    await screen.getByRole('textbox', { name: 'Name' }).fill('Builds');
    await screen.getByRole('button', { name: 'Create', exact: true }).click();
    await screen.getByRole('heading', { name: 'Builds' }).waitFor();
    const [webhook] = await load<Webhook[]>(`/api/channels/${general.id}/webhooks`);
    expect(await screen.locator('main').innerText()).not.to.contain(webhook?.token);
    await screen.getByRole('button', { name: 'Show URLs' }).click();
    await screen.getByText(`${webhook?.url}/codehost`).waitFor();
    await fetch(`${webhook?.url}/codehost`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-GitHub-Event': 'watch' },
      body: JSON.stringify({ action: 'started' }),
    });
    await screen.getByText('Deliveries from code hosts').click();
    await screen.getByRole('cell', { name: 'watch (started)' }).waitFor();
    await screen.getByText('Ignored', { exact: true }).waitFor();
    await screen.getByRole('button', { name: 'Reset URLs of Builds' }).click();
    await screen.getByRole('button', { name: 'Reset', exact: true }).click();
    await screen.getByText(`${webhook?.url}/codehost`).waitFor({ state: 'detached' });
    const [reset] = await load<Webhook[]>(`/api/channels/${general.id}/webhooks`);
    await screen.getByText(`${reset?.url}/codehost`).waitFor();
  });

  it('turns on Community with new channels, lists the server in Discovery, and lets a stranger find and join it', async () => {
    const screen = await openSettings(owner, '/community');
    await screen.getByLabel('Rules channel').selectOption('new');
    await screen.getByLabel('Updates channel').selectOption('new');
    await screen.getByRole('button', { name: 'Turn on Community' }).click();
    await screen.getByText('Community is on.').waitFor();
    await screen.getByRole('link', { name: 'Discovery', exact: true }).last().click();
    await screen.getByRole('checkbox', { name: 'List this server in Discovery' }).check();
    await screen.getByRole('button', { name: 'Save' }).click();
    await screen.getByText('A listed server needs a description.', { exact: true }).waitFor();
    await screen.getByLabel('Description').fill('Ships and knots');
    await screen.getByLabel('Keywords').fill('ships, knots, Ships');
    await screen.getByRole('button', { name: 'Save' }).click();
    await screen.getByText('The server is listed').waitFor();

    const stranger = await signUp(site, 'Sam');
    const finding = await open(site, stranger);
    await finding.goto('/discovery');
    await finding.getByLabel('Search servers').fill('nothing of the kind');
    await finding.getByText('No servers found.').waitFor();
    await finding.getByLabel('Search servers').fill('KNOT');
    await finding.getByRole('button', { name: 'Join Old harbour' }).click();
    await finding.waitForURL(new RegExp(`/servers/${server.id}/`));
    await finding.goto('/discovery');
    await finding.getByRole('link', { name: 'Open Old harbour' }).waitFor();
  });

  it('adds an app of the directory with the chosen permissions', async () => {
    const app = await create<{ id: string; bot: { id: string } }>(mod, '/api/applications', { name: 'Weather', description: 'Tells it.' });
    for (const body of [{ public: true }, { inDirectory: true }])
      await site.call('PATCH', `/api/applications/${app.id}`, { as: mod.as, body });
    const screen = await open(site, owner);
    await screen.goto('/apps');
    await screen.getByRole('button', { name: 'Add to a server: Weather' }).click();
    await screen.getByRole('checkbox', { name: 'Manage Messages' }).check();
    await screen.getByRole('button', { name: 'Add to server' }).click();
    const permissions = everyoneDefault | permissionBits['Manage Messages'];
    await screen.getByText(`Its role has these permissions: ${toPermissionNames(permissions).join(', ')}.`).waitFor();
    const { roles } = await load<Server>(`/api/servers/${server.id}`);
    expect(roles.find(({ name }) => name === 'Weather')?.permissions).to.equal(permissions);
  });

  it('lets a member leave, and the owner delete the server after typing its name', async () => {
    const leaving = await openSettings(guest, '/about');
    await leaving.getByRole('button', { name: 'Leave server' }).click();
    await leaving.getByRole('button', { name: 'Leave', exact: true }).click();
    await leaving.getByRole('heading', { name: 'Hello, Gus' }).waitFor();
    const [screen, other] = [await openSettings(owner, '/overview'), await openSettings(mod, '/about')];
    await screen.getByRole('button', { name: 'Delete server' }).click();
    await screen.getByLabel('Enter the server name to confirm').fill('Old harbou');
    expect(await screen.getByRole('button', { name: 'Delete permanently' }).isDisabled()).to.equal(true);
    await screen.getByLabel('Enter the server name to confirm').fill('Old harbour');
    await screen.getByRole('button', { name: 'Delete permanently' }).click();
    await screen.getByRole('heading', { name: 'Hello, Olga' }).waitFor();
    await other.getByRole('heading', { name: 'Page not found' }).waitFor();
  });
});
