import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import { type Person, type Site, signUp, startSite, usePages, type WindowOptions } from './browser.ts';

/** A test site with a server, its owner Ada and one more member, Bob. `request` fails the test unless the API responds with success. */
export interface WebFixture {
  site: Site;
  ada: Person;
  bob: Person;
  server: Server;
  request: <T>(as: Person, method: string, path: string, body?: unknown) => Promise<T>;
  /** Creates a text channel in the server; returns its id. */
  newChannel: (name: string) => Promise<string>;
  messagesIn: (channelId: string) => Promise<Message[]>;
  /** Opens a window in which `as` is logged in, without a page. It is closed when the test ends. */
  openPage: (as: Person, options?: WindowOptions) => Promise<Page>;
  /** Opens a window that shows a channel of the server. */
  openChannel: (as: Person, channelId: string, options?: WindowOptions) => Promise<Page>;
}

/**
 * Starts a fixture before the tests of the calling file, with the settings that `overrides` resolves to, and closes it after them. The functions can be
 * destructured at once; the site, the people and the server exist from the first `before` hook after the call on. Windows behave as those of `usePages`.
 */
export function useWebFixture(overrides: () => Promise<Record<string, string>> = () => Promise.resolve({})): WebFixture {
  const open = usePages();
  const openPage: WebFixture['openPage'] = (as, options) => open(fixture.site, as, options);
  const request: WebFixture['request'] = async <T>(as: Person, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fixture.site.call<T>(method, path, { as: as.as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.be.lessThan(300);
    return answer.body;
  };
  const functions: Omit<WebFixture, 'site' | 'ada' | 'bob' | 'server'> = {
    request,
    newChannel: async (name) =>
      (await request<{ id: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/channels`, { name, kind: 'text' })).id,
    messagesIn: (channelId) => request(fixture.ada, 'GET', `/api/channels/${channelId}/messages`),
    openPage,
    async openChannel(as, channelId, options) {
      const page = await openPage(as, options);
      await page.goto(`/servers/${fixture.server.id}/${channelId}`);
      return page;
    },
  };
  const fixture = functions as WebFixture;
  before(async () => {
    fixture.site = await startSite(await overrides());
    fixture.ada = await signUp(fixture.site, 'Ada Lovelace');
    fixture.bob = await signUp(fixture.site, 'Bob');
    fixture.server = await request<Server>(fixture.ada, 'POST', '/api/servers', { name: 'Harbour' });
    const { code } = await request<{ code: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/invites`, {});
    await request(fixture.bob, 'POST', `/api/invites/${code}`);
  });
  after(() => (fixture as Partial<WebFixture>).site?.close());
  return fixture;
}
