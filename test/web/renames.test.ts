import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Message } from '../../lib/contract/message.ts';
import { type Harbour, useHarbour } from './harbour.ts';

describe('web: names and counts stay up to date', function () {
  this.timeout(180_000);
  let channelId: string;
  const harbour = useHarbour();
  before(async () => {
    channelId = await harbour.newChannel('names');
  });

  const post = (as: Harbour['ada'], content: string, to = channelId, more: object = {}): Promise<Message> =>
    harbour.ask(as, 'POST', `/api/channels/${to}/messages`, { content, ...more });
  const enter = async (as: Harbour['ada']): Promise<Page> => {
    const page = await harbour.open(as, channelId);
    await page.getByRole('textbox', { name: 'Message names' }).waitFor();
    return page;
  };

  it('a rename in one window shows in messages, replies, mentions, members and DMs of the other, and in the person’s own', async () => {
    const { ada, bob, ask } = harbour;
    const first = await post(bob, 'I am Bob');
    await post(ada, `hello <@${bob.id}>`, channelId, { replyTo: first.id });
    const dm = await ask<{ id: string }>(ada, 'POST', '/api/users/@me/channels', { recipientId: bob.id });
    const [hers, his] = [await enter(ada), await enter(bob)];
    await his.goto('/settings');
    await his.getByLabel('Display name').fill('Robert');
    await his.getByRole('button', { name: 'Save' }).click();
    await hers.getByRole('article', { name: /^Robert,/ }).waitFor();
    await hers.locator('.reply-line', { hasText: 'Robert' }).waitFor();
    await hers.getByText('@Robert').waitFor();
    await hers.getByRole('complementary', { name: 'Members' }).getByText('Robert').waitFor();
    await his.locator('.own-bar', { hasText: 'Robert' }).waitFor();
    await hers.goto(`/dms/${dm.id}`);
    await hers.locator('nav[aria-label="Direct messages"]', { hasText: 'Robert' }).waitFor();
    await ask(bob, 'PATCH', '/api/users/@me', { displayName: 'Bobby' });
    await hers.locator('nav[aria-label="Direct messages"]', { hasText: 'Bobby' }).waitFor();
  });

  it('the message count of a thread moves with its messages, at its message and in the list of threads', async () => {
    const { ada, bob, ask } = harbour;
    const starter = await post(ada, 'let us talk');
    const thread = await ask<Channel>(ada, 'POST', `/api/channels/${channelId}/threads`, { name: 'Talk', messageId: starter.id });
    const page = await enter(ada);
    await page.getByRole('button', { name: 'Threads' }).click();
    const shown = [page.locator('.thread-link', { hasText: 'Talk' }), page.locator('.thread-row', { hasText: 'Talk' })];
    const shows = (text: string): Promise<unknown> => Promise.all(shown.map((one) => one.getByText(text).waitFor()));
    await shows('0 messages');
    const one = await post(bob, 'one', thread.id);
    await shows('1 message');
    await post(bob, 'two', thread.id);
    await shows('2 messages');
    await ask(bob, 'DELETE', `/api/channels/${thread.id}/messages/${one.id}`);
    await shows('1 message');
    // An archived thread comes back with a count that the message's own event may be part of.
    await ask(ada, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
    await shown[1]?.getByText('archived').waitFor();
    await post(bob, 'three', thread.id);
    await shows('2 messages');
    expect((await ask<Channel>(ada, 'GET', `/api/channels/${thread.id}`)).messageCount).to.equal(2);
  });
});
