import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Message } from '../../lib/contract/message.ts';
import { useWebFixture, type WebFixture } from './web-fixture.ts';

describe('web: names and counts stay up to date', () => {
  let channelId: string;
  const fixture = useWebFixture();
  before(async () => {
    channelId = await fixture.newChannel('names');
  });

  const post = (as: WebFixture['ada'], content: string, to = channelId, more: object = {}): Promise<Message> =>
    fixture.request(as, 'POST', `/api/channels/${to}/messages`, { content, ...more });
  const openPage = async (as: WebFixture['ada']): Promise<Page> => {
    const page = await fixture.openChannel(as, channelId);
    await page.getByRole('textbox', { name: 'Message names' }).waitFor();
    return page;
  };

  it('shows a new display name in messages, replies, mentions, members and DMs of another window, and in the own one', async () => {
    const { ada, bob, request } = fixture;
    const first = await post(bob, 'I am Bob');
    await post(ada, `hello <@${bob.id}>`, channelId, { replyTo: first.id });
    const dm = await request<{ id: string }>(ada, 'POST', '/api/users/@me/channels', { recipientId: bob.id });
    const [adaPage, bobPage] = [await openPage(ada), await openPage(bob)];
    await bobPage.goto('/settings');
    await bobPage.getByLabel('Display name').fill('Robert');
    await bobPage.getByRole('button', { name: 'Save' }).click();
    await adaPage.getByRole('article', { name: /^Robert,/ }).waitFor();
    await adaPage.locator('.reply-line', { hasText: 'Robert' }).waitFor();
    await adaPage.getByText('@Robert').waitFor();
    await adaPage.getByRole('complementary', { name: 'Members' }).getByText('Robert').waitFor();
    await bobPage.locator('.own-bar', { hasText: 'Robert' }).waitFor();
    await adaPage.goto(`/dms/${dm.id}`);
    await adaPage.locator('nav[aria-label="Direct messages"]', { hasText: 'Robert' }).waitFor();
    await request(bob, 'PATCH', '/api/users/@me', { displayName: 'Bobby' });
    await adaPage.locator('nav[aria-label="Direct messages"]', { hasText: 'Bobby' }).waitFor();
  });

  it('updates the message count of a thread, at its starter message and in the thread list', async () => {
    const { ada, bob, request } = fixture;
    const starter = await post(ada, 'let us talk');
    const thread = await request<Channel>(ada, 'POST', `/api/channels/${channelId}/threads`, { name: 'Talk', messageId: starter.id });
    const page = await openPage(ada);
    await page.getByRole('button', { name: 'Threads' }).click();
    const threadElements = [page.locator('.thread-link', { hasText: 'Talk' }), page.locator('.thread-row', { hasText: 'Talk' })];
    const waitForText = (text: string): Promise<unknown> => Promise.all(threadElements.map((one) => one.getByText(text).waitFor()));
    await waitForText('0 messages');
    const one = await post(bob, 'one', thread.id);
    await waitForText('1 message');
    await post(bob, 'two', thread.id);
    await waitForText('2 messages');
    await request(bob, 'DELETE', `/api/channels/${thread.id}/messages/${one.id}`);
    await waitForText('1 message');
    // When a message restores an archived thread, the loaded count may already include that message.
    await request(ada, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
    await threadElements[1]?.getByText('archived').waitFor();
    await post(bob, 'three', thread.id);
    await waitForText('2 messages');
    expect((await request<Channel>(ada, 'GET', `/api/channels/${thread.id}`)).messageCount).to.equal(2);
  });
});
