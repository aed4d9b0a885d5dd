import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import { type Look, type Person, type Site, signUp, startSite, useScreens } from './browser.ts';

/** A site with a server, its owner and one more member; what they ask of the API has to succeed. */
export interface Harbour {
  site: Site;
  ada: Person;
  bob: Person;
  home: Server;
  ask: <T>(as: Person, method: string, path: string, body?: unknown) => Promise<T>;
  /** A new text channel of the server: its id. */
  newChannel: (name: string) => Promise<string>;
  messagesIn: (channelId: string) => Promise<Message[]>;
  /** A window in which `as` is logged in; it closes when the test ends. It stands on no page yet. */
  screen: (as: Person, look?: Look) => Promise<Page>;
  /** A window that shows a channel of the server. */
  open: (as: Person, channelId: string, look?: Look) => Promise<Page>;
}

/**
 * A harbour for the tests of the file that calls this: it is started before them under the settings that `overrides` resolves to, and closed after them. The
 * functions can be taken out of the answer at once; the site, the people and the server are there from the first `before` hook after the call on. Its windows
 * are those of `useScreens`.
 */
export function useHarbour(overrides: () => Promise<Record<string, string>> = () => Promise.resolve({})): Harbour {
  const openScreen = useScreens();
  const screen: Harbour['screen'] = (as, look) => openScreen(harbour.site, as, look);
  const ask: Harbour['ask'] = async <T>(as: Person, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await harbour.site.call<T>(method, path, { as: as.as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.be.lessThan(300);
    return answer.body;
  };
  const functions: Omit<Harbour, 'site' | 'ada' | 'bob' | 'home'> = {
    ask,
    newChannel: async (name) =>
      (await ask<{ id: string }>(harbour.ada, 'POST', `/api/servers/${harbour.home.id}/channels`, { name, kind: 'text' })).id,
    messagesIn: (channelId) => ask(harbour.ada, 'GET', `/api/channels/${channelId}/messages`),
    screen,
    async open(as, channelId, look) {
      const page = await screen(as, look);
      await page.goto(`/servers/${harbour.home.id}/${channelId}`);
      return page;
    },
  };
  const harbour = functions as Harbour;
  before(async () => {
    harbour.site = await startSite(await overrides());
    harbour.ada = await signUp(harbour.site, 'Ada Lovelace');
    harbour.bob = await signUp(harbour.site, 'Bob');
    harbour.home = await ask<Server>(harbour.ada, 'POST', '/api/servers', { name: 'Harbour' });
    const { code } = await ask<{ code: string }>(harbour.ada, 'POST', `/api/servers/${harbour.home.id}/invites`, {});
    await ask(harbour.bob, 'POST', `/api/invites/${code}`);
  });
  after(() => (harbour as Partial<Harbour>).site?.close());
  return harbour;
}
