import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import { useScreens } from './browser.ts';
import { type Harbour, startHarbour } from './harbour.ts';

describe('web: channels', function () {
  this.timeout(180_000);
  let site: Harbour['site'];
  let ada: Harbour['ada'];
  let bob: Harbour['bob'];
  let home: Harbour['home'];
  let ask: Harbour['ask'];
  let newChannel: Harbour['newChannel'];
  const open = useScreens();

  before(async () => {
    ({ site, ada, bob, home, ask, newChannel } = await startHarbour());
  });
  after(() => site?.close());

  it('a private channel is never listed for others; whom it is allowed sees it', async () => {
    const [screen, other] = [await open(site, ada), await open(site, bob)];
    await screen.goto(`/servers/${home.id}/settings/channels`);
    await other.goto(`/servers/${home.id}`);
    await screen.getByRole('button', { name: 'Create channel' }).click();
    await screen.getByRole('textbox', { name: 'Name', exact: true }).fill('cabin');
    await screen.getByRole('checkbox', { name: 'Private channel' }).check();
    await screen.getByRole('button', { name: 'Create', exact: true }).click();
    const view = screen.getByRole('group', { name: 'View Channel' });
    expect(await view.getByLabel('Deny').isChecked()).to.equal(true);
    // What is made after it and heard by the guest shows that nothing of it was told before.
    await newChannel('deck');
    const channels = other.getByRole('navigation', { name: 'Channels' });
    await channels.getByText('deck').waitFor();
    expect(await channels.getByText('cabin').count()).to.equal(0);
    await view.getByLabel('Inherit from roles').check();
    await screen.getByRole('button', { name: 'Save' }).last().click();
    await channels.getByText('cabin').waitFor();
  });

  it('a voice channel says that there is nothing to join, and has no composer', async () => {
    const voice = await ask<Channel>(ada, 'POST', `/api/servers/${home.id}/channels`, { name: 'bridge', kind: 'voice' });
    const screen = await open(site, bob);
    await screen.goto(`/servers/${home.id}/${voice.id}`);
    await screen.getByRole('heading', { name: 'bridge', level: 1 }).waitFor();
    await screen.getByText('Parlance has no calls yet').waitFor();
    expect(await screen.getByRole('textbox').count()).to.equal(0);
  });
});
