import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { makeWorld, type World } from '../../harness/world.ts';

/** A Message as the tests read it. */
export interface Shown {
  id: string;
  content: string;
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
  editedAt: string | null;
  embeds: { title?: string }[];
  reply?: { id: string; content: string; author: { id: string }; hasAttachments: boolean };
  replyDeleted: boolean;
  nonce?: string;
  serverId?: string;
  author: { id: string; displayName: string; tag?: string };
}
/** An error body as the tests read it. */
export interface Failure {
  code: string;
  errors?: { path: string; message: string }[];
  missing?: string[];
}

/** A world of two bots and three channels, and short ways to post in its first channel. */
export interface MessageFixture {
  api: TestApi;
  world: World;
  /** Authorization values of the first bot, the second, and the owner. */
  bot: string;
  other: string;
  person: string;
  /** Path of the first channel's messages. */
  path: string;
  post: <T = Shown>(body: unknown, as?: string) => Promise<Answer<T>>;
  /** Runs `act` while `@everyone` has just these permissions. */
  withPermissions: (permissions: number, act: () => Promise<void>) => Promise<void>;
}

/** Starts an API with such a world. */
export async function messageFixture(): Promise<MessageFixture> {
  const api = await startTestApi();
  const world = await makeWorld(api.platform, { bots: 2, channels: 3 });
  const bot = `Bot ${world.bots[0]?.token}`;
  const path = `/api/channels/${world.channelIds[0]}/messages`;
  const setEveryone = (permissions: number): Promise<unknown> =>
    api.platform.versions.changing({ servers: [world.serverId] }, () =>
      api.platform.db.servers.updateOne({ _id: world.serverId }, { $set: { 'roles.0.permissions': permissions } }),
    );
  return {
    api,
    world,
    bot,
    other: `Bot ${world.bots[1]?.token}`,
    person: `Bearer ${world.ownerToken}`,
    path,
    post: <T>(body: unknown, as = bot) => api.call<T>('POST', path, { as, body }),
    async withPermissions(permissions, act) {
      await setEveryone(permissions);
      try {
        await act();
      } finally {
        await setEveryone(15);
      }
    },
  };
}

/** So many characters that are two UTF-16 units each. */
export const crowd = (count: number): string => '😀'.repeat(count);
