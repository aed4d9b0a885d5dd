import { createLog } from '../../../lib/base/log.ts';
import { type Permission, permissionBits } from '../../../lib/base/permissions.ts';
import type { ChannelInput } from '../../../lib/contract/channel.ts';
import type { Invoked } from '../../../lib/contract/interaction.ts';
import type { RoleInput } from '../../../lib/contract/server.ts';
import { newToken } from '../../../lib/domain/accounts/credentials.ts';
import { ownMarksWritten } from '../../../lib/domain/channels/reads.ts';
import { openGatewayPlatform, openWorkerPlatform } from '../../../lib/store/platform.ts';
import { interactionTokenOf, newSecret, seal, sha256 } from '../../../lib/store/seal.ts';
import { handlers } from '../../../workers/handlers.ts';
import { imageEncoder } from '../../../workers/image-encoder.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  giveRole,
  join,
  makeApplication,
  makeChannel,
  makeInvite,
  makeRole,
  makeServer,
  send,
  word,
} from '../../harness/factories.ts';
import { plainMessage } from '../../harness/plain-message.ts';
import { roles } from './roles.ts';
import { snapshotOf } from './snapshot.ts';

/** A server with one caller of each role, and ways to make what a call is aimed at. What is made here is the owner's or the author's, never the caller's. */
export interface Stage {
  api: TestApi;
  owner: Caller;
  /** A member without permissions who wrote what stands here, and is no role of the matrix. */
  author: Caller;
  serverId: string;
  /** A text and an announcement channel, in which overwrites change nothing. */
  channelId: string;
  newsId: string;
  /** A direct message of two who are no roles of the matrix, and a message there. */
  dm: { channelId: string; messageId: string };
  /** The application that two roles belong to; its command `hello` is there everywhere. */
  application: Bot;
  commandId: string;
  /** The own role of `another bot`. */
  botRoleId: string;
  /** The caller of a role, by its name. */
  callerOf(role: string): Caller;
  /** Someone new who is nowhere, by direct writes: registering costs a password's hash. */
  person(): Promise<Caller>;
  /** Someone new in the stage's server, or another. */
  member(serverId?: string): Promise<Caller>;
  /** Brings a caller into a server of the owner's. */
  bring(caller: Caller, serverId: string): Promise<void>;
  message(options?: { channelId?: string; by?: Caller }): Promise<string>;
  role(input?: Partial<RoleInput>): Promise<string>;
  channel(input?: Partial<ChannelInput>): Promise<string>;
  /** Another server of the owner's. */
  server(): Promise<string>;
  invite(serverId?: string): Promise<string>;
  /** An application of someone's. */
  ownApplication(owner: Caller, isPublic?: boolean): Promise<Bot>;
  /** A fresh session of a person's. */
  session(caller: Caller): Promise<string>;
  /** Uses `hello` as the owner; `answered` by the bot. The 3 seconds are put off, so that no test races with the clock. */
  interaction(answered?: boolean): Promise<{ id: string; token: string }>;
  /** A webhook of the text channel, by direct writes. */
  webhook(): Promise<{ id: string; token: string }>;
  /** All that is stored, to compare: of each collection the number of its documents and a hash of them. */
  snapshot(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

const bitsOf = (names: readonly Permission[]): number => names.reduce((bits, name) => bits | permissionBits[name], 0);

/** A way to make people by direct writes. */
function peopleOf(api: TestApi): Pick<Stage, 'person' | 'session'> {
  const { db, ids } = api.platform;
  const session = async (accountId: string): Promise<string> => {
    const _id = ids.next();
    const { token, hash } = newToken(_id);
    await db.tokens.insertMany([{ _id, accountId, kind: 'session', hash, createdAt: new Date(), expiresAt: null }]);
    return token;
  };
  return {
    session: (caller) => session(caller.id),
    async person() {
      const _id = ids.next();
      const username = word('someone');
      const face = { username, displayName: username, avatarUrl: null, tag: null, status: 'online' as const, customStatus: null };
      await db.accounts.insertMany([{ _id, kind: 'person', ...face, passwordHash: null, applicationId: null, createdAt: new Date() }]);
      const token = await session(_id);
      return { id: _id, username, token, as: `Bearer ${token}` };
    },
  };
}

/** A connected session of the bot, so that its commands can be used. Answers how to end it. */
async function connect({ platform }: TestApi, bot: Bot): Promise<() => Promise<void>> {
  const gateway = await openGatewayPlatform(platform.config, createLog('test', platform.config.LOG_LEVEL));
  const node = 'matrix-node';
  await gateway.sessions.renewLease(node);
  const beat = setInterval(() => void gateway.sessions.renewLease(node).catch(() => undefined), 1_000);
  await gateway.sessions.open({ id: 'matrix', accountId: bot.id, owner: 'socket', node, events: ['INTERACTION_CREATE'] });
  return async () => {
    clearInterval(beat);
    await gateway.close();
  };
}

/** A worker that converts pictures, which a call waits for, and does nothing else, so that what is stored changes by calls alone. Answers how to end it. */
async function convertPictures({ platform: { config } }: TestApi): Promise<() => Promise<void>> {
  const worker = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
  const idle = Object.fromEntries(Object.keys(handlers).map((name) => [name, () => Promise.resolve()])) as unknown as typeof handlers;
  const consumers = worker.consume({ ...idle, 'convert-image': handlers['convert-image'] }, () => undefined);
  return async () => {
    await consumers.close();
    await imageEncoder.close();
    await worker.close();
  };
}

/** A direct message of two strangers with one message, by direct writes. */
async function strangersDm({ platform: { db, ids } }: TestApi, one: Caller, other: Caller): Promise<Stage['dm']> {
  const [channelId, messageId] = [ids.next(), ids.next()];
  const userIds = [one.id, other.id].sort() as [string, string];
  const times = { lastMessageId: messageId, activeId: messageId, createdAt: new Date() };
  await db.dms.insertMany([{ _id: channelId, pair: userIds.join(':'), userIds, bots: [], ...times }]);
  const place = { _id: messageId, channelId, serverId: null, authorId: one.id, content: 'between us' };
  await db.messages.insertMany([{ ...place, ...plainMessage, createdAt: new Date() }]);
  return { channelId, messageId };
}

/** Where the next webhook stands: beyond the places that the cap counts. */
let webhookSlot = 100;

/** A webhook by a direct write, so that its channel still has room for all that calls make. */
async function webhookIn(
  { platform: { db, ids, config } }: TestApi,
  serverId: string,
  channelId: string,
): Promise<{ id: string; token: string }> {
  const [_id, token] = [ids.next(), newSecret()];
  const secret = { token: seal(config.APP_KEY, token), tokenHash: sha256(token) };
  const rest = { slot: webhookSlot++, createdAt: new Date(), posts: [], deliveryPosts: [] };
  await db.webhooks.insertMany([{ _id, channelId, serverId, name: 'hook', ...secret, ...rest }]);
  return { id: _id, token };
}

/** Builds the stage on a fresh database. */
export async function startStage(overrides: Record<string, string> = {}): Promise<Stage> {
  const api = await startTestApi(overrides);
  const { db, ids } = api.platform;
  const people = peopleOf(api);
  const owner = await people.person();
  const { id: serverId, general: channelId } = await makeServer(api, owner);
  await send(api, 200, owner, 'PATCH', `/api/servers/${serverId}/roles/${serverId}`, { permissions: 0 });
  const { id: newsId } = await makeChannel(api, owner, serverId, { kind: 'announcement' });
  const callers = new Map<string, Caller>([['owner', owner]]);
  const enter = async (place: string): Promise<Caller> => {
    const caller = await people.person();
    await join(api, owner, place, caller);
    return caller;
  };
  const author = await enter(serverId);
  const ownApplication: Stage['ownApplication'] = (by, isPublic = false) => makeApplication(api, by, word('app'), isPublic);
  for (const { name, account, inside, holds } of roles.filter((one) => one.account === 'person' && !one.owner)) {
    const caller = inside ? await enter(serverId) : await people.person();
    callers.set(name, caller);
    if (holds.length === 0) continue;
    const permissions = name === 'Administrator' ? permissionBits.Administrator : bitsOf(holds);
    const role = await makeRole(api, owner, serverId, { name: `${account} ${name}`, permissions });
    await giveRole(api, owner, serverId, caller.id, role.id);
  }
  const application = await ownApplication(callers.get('the application’s owner') as Caller, true);
  await authorize(api, owner, application, serverId, permissionBits.Administrator);
  const another = await ownApplication(author, true);
  const { roleId: botRoleId } = await authorize(api, owner, another, serverId);
  callers.set('the application’s bot', application);
  callers.set('another bot', another);
  const nobody = { id: author.id, username: '', token: '' };
  callers.set('no credential', { ...nobody, as: '' });
  callers.set('an unknown token', { ...nobody, as: `Bearer ${newToken(ids.next()).token}` });
  callers.set('a bot’s token as a person’s', { ...nobody, as: `Bearer ${application.token}` });
  const commands = [{ name: 'hello', description: 'Says hello' }];
  const [command] = await send<{ id: string }[]>(
    api,
    200,
    application,
    'PUT',
    `/api/applications/${application.applicationId}/commands`,
    commands,
  );
  const commandId = command?.id as string;
  const ends = [await connect(api, application), await convertPictures(api)];
  return {
    api,
    owner,
    author,
    serverId,
    channelId,
    newsId,
    dm: await strangersDm(api, await people.person(), await people.person()),
    application,
    commandId,
    botRoleId,
    ...people,
    ownApplication,
    callerOf: (role) => callers.get(role) as Caller,
    member: (place = serverId) => enter(place),
    async bring(caller, place) {
      const bot = [application, another].find((one) => one.id === caller.id);
      await (bot ? authorize(api, owner, bot, place) : join(api, owner, place, caller));
    },
    async message({ channelId: place = channelId, by = author } = {}) {
      const _id = ids.next();
      const message = { _id, channelId: place, serverId, authorId: by.id, content: 'a message' };
      await db.messages.insertMany([{ ...message, ...plainMessage, createdAt: new Date() }]);
      return _id;
    },
    role: async (input) => (await makeRole(api, owner, serverId, input)).id,
    channel: async (input) => (await makeChannel(api, owner, serverId, input)).id,
    server: async () => (await makeServer(api, owner)).id,
    invite: async (place = serverId) => (await makeInvite(api, owner, place)).code,
    async interaction(answered = false) {
      const path = `/api/channels/${channelId}/commands/${commandId}/invoke`;
      const { id } = await send<Invoked>(api, 202, owner, 'POST', path, {});
      await db.interactions.collection.updateOne({ _id: id as never }, { $set: { createdAt: new Date(Date.now() + 60_000) } });
      const token = interactionTokenOf(api.platform.config.APP_KEY, id);
      if (answered) await send(api, 201, null, 'POST', `/api/interactions/${id}/${token}/callback`, { type: 'message', content: 'hello' });
      return { id, token };
    },
    webhook: () => webhookIn(api, serverId, channelId),
    async snapshot() {
      await ownMarksWritten();
      return snapshotOf(api);
    },
    async close() {
      for (const end of ends) await end();
      await api.close();
    },
  };
}
