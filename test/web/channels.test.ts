import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import { useHarbour } from './harbour.ts';

describe('web: channels', function () {
  this.timeout(180_000);
  const harbour = useHarbour();
  const { ask, newChannel, open, screen } = harbour;

  it('a private channel is never listed for others; whom it is allowed sees it', async () => {
    const [settings, other] = [await screen(harbour.ada), await screen(harbour.bob)];
    await settings.goto(`/servers/${harbour.home.id}/settings/channels`);
    await other.goto(`/servers/${harbour.home.id}`);
    await settings.getByRole('button', { name: 'Create channel' }).click();
    await settings.getByRole('textbox', { name: 'Name', exact: true }).fill('cabin');
    await settings.getByRole('checkbox', { name: 'Private channel' }).check();
    await settings.getByRole('button', { name: 'Create', exact: true }).click();
    const view = settings.getByRole('group', { name: 'View Channel' });
    expect(await view.getByLabel('Deny').isChecked()).to.equal(true);
    // Events arrive in order: when this later channel is shown, an event of the private one would have been received, too.
    await newChannel('deck');
    const channels = other.getByRole('navigation', { name: 'Channels' });
    await channels.getByText('deck').waitFor();
    expect(await channels.getByText('cabin').count()).to.equal(0);
    await view.getByLabel('Inherit from roles').check();
    await settings.getByRole('button', { name: 'Save' }).last().click();
    await channels.getByText('cabin').waitFor();
  });

  it('a voice channel says that there is nothing to join, and has no composer', async () => {
    const voice = await ask<Channel>(harbour.ada, 'POST', `/api/servers/${harbour.home.id}/channels`, { name: 'bridge', kind: 'voice' });
    const page = await open(harbour.bob, voice.id);
    await page.getByRole('heading', { name: 'bridge', level: 1 }).waitFor();
    await page.getByText('Parlance has no calls yet').waitFor();
    expect(await page.getByRole('textbox').count()).to.equal(0);
  });
});
