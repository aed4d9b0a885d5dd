// The matrix calls every route as every kind of caller, and checks who is allowed, what the others receive, and that refused calls change nothing.
import { createLog } from '../../../lib/base/log.ts';
import { type Permission, permissionBits } from '../../../lib/base/permissions.ts';
import type { ChannelInput } from '../../../lib/contract/channel.ts';
import type { InvokeResult } from '../../../lib/contract/interaction.ts';
import type { RoleInput } from '../../../lib/contract/server.ts';
import { newToken } from '../../../lib/domain/access/credentials.ts';
import { waitForOwnMarks } from '../../../lib/domain/channels/reads.ts';
import { openWorkerPlatform } from '../../../lib/store/platform.ts';
import { createSecret, deriveInteractionToken, seal, sha256 } from '../../../lib/store/seal.ts';
import { handlers } from '../../../workers/handlers.ts';
import { imageEncoder } from '../../../workers/image-encoder.ts';
import { collectionsOf, startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  join,
  makeApplication,
  makeBot,
  makeChannel,
  makeInvite,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
} from '../../harness/factories.ts';
import { consumeJobs } from '../../harness/jobs.ts';
import { plainMessage } from '../../harness/plain-message.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { giveTokens } from '../../harness/seed.ts';
import { startSessions } from '../../harness/sessions.ts';
import { createSnapshots } from '../../harness/snapshots.ts';
import { putCommands, slash } from '../applications/commands-fixture.ts';
import { roles } from './roles.ts';

const bitsOf = (names: readonly Permission[]): number => names.reduce((bits, name) => bits | permissionBits[name], 0);

/** Starts a worker that only converts pictures, which some calls wait for: nothing but calls changes the database. */
async function startPictureWorker({ platform: { config } }: TestApi): Promise<{ close(): Promise<void> }> {
  const worker = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
  const consumers = consumeJobs(worker, { 'convert-image': handlers['convert-image'] });
  return {
    async close() {
      await consumers.close();
      await imageEncoder.close();
      await worker.close();
    },
  };
}

/** Makes a DM of two people without a shared server, with one message, by direct writes. */
async function makeStrangersDm({ platform: { db, ids } }: TestApi, one: Caller, other: Caller) {
  const [channelId, messageId] = [ids.next(), ids.next()];
  const userIds = [one.id, other.id].sort() as [string, string];
  const times = { lastMessageId: messageId, activeId: messageId, createdAt: new Date() };
  await db.dms.insertMany([{ _id: channelId, pair: userIds.join(':'), userIds, bots: [], ...times }]);
  const message = { _id: messageId, channelId, serverId: null, authorId: one.id, content: 'between us' };
  await db.messages.insertMany([{ ...message, ...plainMessage, createdAt: new Date() }]);
  return { channelId, messageId };
}

/** The slot of the next webhook: above the slots that count towards the limit. */
let webhookSlot = 100;

/** Makes a webhook by a direct write that does not count towards the limit of its channel, so that calls can make all of theirs. */
async function makeWebhook(
  { platform: { db, ids, config } }: TestApi,
  serverId: string,
  channelId: string,
): Promise<{ id: string; token: string }> {
  const [_id, token] = [ids.next(), createSecret()];
  const secret = { token: seal(config.APP_KEY, token), tokenHash: sha256(token) };
  const rest = { slot: webhookSlot++, createdAt: new Date(), posts: [], deliveryPosts: [] };
  await db.webhooks.insertMany([{ _id, channelId, serverId, name: 'hook', ...secret, ...rest }]);
  return { id: _id, token };
}

/**
 * Starts a server with one caller of each role, and functions that make the targets of calls, on a new database. The targets belong to the owner or the author,
 * not to the caller.
 */
export async function startMatrixFixture() {
  const api = await startTestApi();
  const { db, ids } = api.platform;
  const owner = await makePerson(api);
  const { id: serverId, general: channelId } = await makeServer(api, owner);
  await send(api, 200, owner, 'PATCH', `/api/servers/${serverId}/roles/${serverId}`, { permissions: 0 });
  const { id: newsId } = await makeChannel(api, owner, serverId, { kind: 'announcement' });
  const callers = new Map<string, Caller>([['owner', owner]]);
  const author = await makeMember(api, owner, serverId);
  for (const { name, inside, holds } of roles.filter((one) => one.account === 'person' && !one.owner)) {
    const permissions = name === 'Administrator' ? permissionBits.Administrator : bitsOf(holds);
    callers.set(name, inside ? await makeMember(api, owner, serverId, holds.length ? permissions : undefined) : await makePerson(api));
  }
  const application = await makeApplication(api, callers.get('the application’s owner') as Caller, undefined, true);
  await authorize(api, owner, application, serverId, permissionBits.Administrator);
  const another = await makeBot(api, owner, serverId);
  callers.set('the application’s bot', application);
  callers.set('another bot', another);
  const nobody = { id: author.id, username: '', token: '' };
  callers.set('no credential', { ...nobody, as: '' });
  callers.set('an unknown token', { ...nobody, as: `Bearer ${newToken(ids.next()).token}` });
  callers.set('a bot’s token as a person’s', { ...nobody, as: `Bearer ${application.token}` });
  const [command] = await putCommands(api, application, [slash('hello')]);
  const commandId = command?.id as string;
  const sessions = await startSessions(api);
  await sessions.open(application, 'matrix-node', ['INTERACTION_CREATE']);
  const worker = await startPictureWorker(api);
  const readAll = createSnapshots(collectionsOf(db));
  return {
    api,
    owner,
    /** A member without permissions who writes the messages, and is no role of the matrix. */
    author,
    serverId,
    /** A text and an announcement channel without overwrites. */
    channelId,
    newsId,
    /** A DM of two people who are no roles of the matrix, and a message in it. */
    dm: await makeStrangersDm(api, await makePerson(api), await makePerson(api)),
    /** The application that belongs to two of the roles; its global command is `hello`. */
    application,
    commandId,
    /** The own role of `another bot`. */
    botRoleId: another.roleId,
    /** The caller of a role, by its name. */
    callerOf: (role: string): Caller => callers.get(role) as Caller,
    makePerson: () => makePerson(api),
    makeMember: (id = serverId) => makeMember(api, owner, id),
    makeApplication: (by: Caller, isPublic?: boolean) => makeApplication(api, by, undefined, isPublic),
    /** Makes another session of a person; returns its token. */
    makeSession: async ({ id }: Caller): Promise<string> => (await giveTokens(api.platform, [id]))[0] as string,
    /** Adds a caller to a server of the owner. */
    async addToServer(caller: Caller, id: string): Promise<void> {
      const bot = [application, another].find((one) => one.id === caller.id);
      await (bot ? authorize(api, owner, bot, id) : join(api, owner, id, caller));
    },
    async makeMessage({ channelId: id = channelId, by = author }: { channelId?: string; by?: Caller } = {}): Promise<string> {
      const _id = ids.next();
      const message = { _id, channelId: id, serverId, authorId: by.id, content: 'a message' };
      await db.messages.insertMany([{ ...message, ...plainMessage, createdAt: new Date() }]);
      return _id;
    },
    makeRole: async (input?: Partial<RoleInput>) => (await makeRole(api, owner, serverId, input)).id,
    makeChannel: async (input?: Partial<ChannelInput>) => (await makeChannel(api, owner, serverId, input)).id,
    makeServer: async () => (await makeServer(api, owner)).id,
    makeInvite: async (id = serverId) => (await makeInvite(api, owner, id)).code,
    /** Uses `hello` as the owner; with `answered` the bot answers it. Its time is set a minute ahead, so that it does not expire during a test. */
    async makeInteraction(answered = false): Promise<{ id: string; token: string }> {
      const path = `/api/channels/${channelId}/commands/${commandId}/invoke`;
      const { id } = await send<InvokeResult>(api, 202, owner, 'POST', path, {});
      await db.interactions.updateOne({ _id: id }, { $set: { createdAt: new Date(Date.now() + 60_000) } });
      const token = deriveInteractionToken(api.platform.config.APP_KEY, id);
      if (answered) await send(api, 201, null, 'POST', `/api/interactions/${id}/${token}/callback`, { type: 'message', content: 'hello' });
      return { id, token };
    },
    makeWebhook: () => makeWebhook(api, serverId, channelId),
    /** The content of the database, to compare. */
    async snapshot(): Promise<Record<string, string>> {
      await waitForOwnMarks();
      return readAll();
    },
    async close(): Promise<void> {
      await worker.close();
      await sessions.close();
      await api.close();
    },
  };
}

/** A server with one caller of each role. */
export type MatrixFixture = Awaited<ReturnType<typeof startMatrixFixture>>;
