import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: channels', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openChannel, openPage } = fixture;

  it('shows a private channel to another member only after it is allowed', async () => {
    const [settings, other] = [await openPage(fixture.ada), await openPage(fixture.bob)];
    await settings.goto(`/servers/${fixture.server.id}/settings/channels`);
    await other.goto(`/servers/${fixture.server.id}`);
    await settings.getByRole('button', { name: 'Create channel' }).click();
    await settings.getByRole('textbox', { name: 'Name', exact: true }).fill('cabin');
    await settings.getByRole('checkbox', { name: 'Private channel' }).check();
    await settings.getByRole('button', { name: 'Create', exact: true }).click();
    await settings.getByRole('textbox', { name: 'Message cabin' }).waitFor();
    await settings.goto(`/servers/${fixture.server.id}/settings/channels?channel=${settings.url().split('/').at(-1)}`);
    const view = settings.getByRole('group', { name: 'View Channel' });
    expect(await view.getByLabel('Deny').isChecked()).to.equal(true);
    // Events arrive in order: when this later channel is shown, an event about the private one would have arrived, too.
    await newChannel('deck');
    const channels = other.getByRole('navigation', { name: 'Channels' });
    await channels.getByText('deck').waitFor();
    expect(await channels.getByText('cabin').count()).to.equal(0);
    await view.getByLabel('Inherit from roles').check();
    await settings.getByRole('button', { name: 'Save' }).last().click();
    await channels.getByText('cabin').waitFor();
  });

  it('says in a voice channel that voice calls are not supported, and shows no composer', async () => {
    const voice = await request<Channel>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/channels`, {
      name: 'bridge',
      kind: 'voice',
    });
    const page = await openChannel(fixture.bob, voice.id);
    await page.getByRole('heading', { name: 'bridge', level: 1 }).waitFor();
    await page.getByText('Parlance doesn’t support voice calls yet').waitFor();
    expect(await page.getByRole('textbox').count()).to.equal(0);
  });
});
