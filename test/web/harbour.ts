import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import { type Person, type Site, signUp, startSite } from './browser.ts';

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
}

/** Starts it under `overrides`. */
export async function startHarbour(overrides: Record<string, string> = {}): Promise<Harbour> {
  const site = await startSite(overrides);
  const ask: Harbour['ask'] = async <T>(as: Person, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await site.call<T>(method, path, { as: as.as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.be.lessThan(300);
    return answer.body;
  };
  const [ada, bob] = [await signUp(site, 'Ada Lovelace'), await signUp(site, 'Bob')];
  const home = await ask<Server>(ada, 'POST', '/api/servers', { name: 'Harbour' });
  const { code } = await ask<{ code: string }>(ada, 'POST', `/api/servers/${home.id}/invites`, {});
  await ask(bob, 'POST', `/api/invites/${code}`);
  return {
    site,
    ada,
    bob,
    home,
    ask,
    newChannel: async (name) => (await ask<{ id: string }>(ada, 'POST', `/api/servers/${home.id}/channels`, { name, kind: 'text' })).id,
    messagesIn: (channelId) => ask(ada, 'GET', `/api/channels/${channelId}/messages`),
  };
}
