import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Webhook } from '../../../lib/contract/webhook.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { createManagingWrites } from '../../../lib/store/redis/managing-writes.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { around } from '../../harness/around.ts';
import {
  type Caller,
  giveRole,
  makeChannel,
  makeInvite,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  send,
} from '../../harness/factories.ts';
import { until } from '../../harness/scene.ts';

/** Every permission but Administrator. */
const managing = (1 << 12) - 1;

/** A server with a moderator, and what the moderator may write there. */
interface Stage {
  serverId: string;
  moderator: Caller;
  /** The moderator's role, and a role without permissions above it. */
  roleId: string;
  highId: string;
  /** A member with the role `lowId`. */
  target: Caller;
  lowId: string;
  spareId: string;
  channelId: string;
  threadId: string;
  webhookId: string;
  code: string;
}

type Request = [method: string, path: string, body?: unknown];
/** What takes permissions away from the moderator; by the words of a test's title. */
const revocations = {
  'taking the role': ({ serverId, moderator, roleId }: Stage): Request => [
    'DELETE',
    `/api/servers/${serverId}/members/${moderator.id}/roles/${roleId}`,
  ],
  'raising the target': ({ serverId, target, highId }: Stage): Request => [
    'PUT',
    `/api/servers/${serverId}/members/${target.id}/roles/${highId}`,
  ],
  'kicking the moderator': ({ serverId, moderator }: Stage): Request => ['DELETE', `/api/servers/${serverId}/members/${moderator.id}`],
  'an overwrite': ({ channelId, moderator }: Stage): Request => [
    'PUT',
    `/api/channels/${channelId}/overwrites/${moderator.id}`,
    { allow: 0, deny: managing },
  ],
};
type Revocation = keyof typeof revocations;
interface Row {
  name: string;
  write: (stage: Stage) => Request;
  revokedBy: Revocation[];
}

const inServer = (rest: string): ((stage: Stage) => string) => {
  const fill = (stage: Stage): string =>
    `/api/servers/${stage.serverId}${rest.replace('{target}', stage.target.id).replace('{low}', stage.lowId).replace('{spare}', stage.spareId)}`;
  return fill;
};
const row = (
  name: string,
  method: string,
  path: (stage: Stage) => string,
  body?: unknown,
  revokedBy: Revocation[] = ['taking the role'],
): Row => ({
  name,
  write: (stage) => [method, path(stage), body],
  revokedBy,
});

const rows: Row[] = [
  row('create role', 'POST', inServer('/roles'), { name: 'late' }, ['taking the role', 'kicking the moderator']),
  row('patch role', 'PATCH', inServer('/roles/{low}'), { permissions: 3 }),
  row('delete role', 'DELETE', inServer('/roles/{low}')),
  row('give role', 'PUT', inServer('/members/{target}/roles/{spare}'), undefined, ['taking the role', 'kicking the moderator']),
  row('take role', 'DELETE', inServer('/members/{target}/roles/{low}')),
  row('kick', 'DELETE', inServer('/members/{target}'), undefined, ['taking the role', 'raising the target']),
  row('ban', 'PUT', inServer('/bans/{target}'), {}, ['taking the role', 'raising the target']),
  row('create channel', 'POST', inServer('/channels'), { name: 'late', kind: 'text' }),
  row('patch channel', 'PATCH', ({ channelId }) => `/api/channels/${channelId}`, { topic: 'late' }, ['taking the role', 'an overwrite']),
  row('delete channel', 'DELETE', ({ channelId }) => `/api/channels/${channelId}`),
  row('put overwrite', 'PUT', ({ channelId, target }) => `/api/channels/${channelId}/overwrites/${target.id}`, { allow: 1, deny: 2 }, [
    'taking the role',
    'raising the target',
  ]),
  row('create webhook', 'POST', ({ channelId }) => `/api/channels/${channelId}/webhooks`, { name: 'late' }, [
    'taking the role',
    'an overwrite',
  ]),
  row('delete webhook', 'DELETE', ({ webhookId }) => `/api/webhooks/${webhookId}`),
  row('archive thread', 'PATCH', ({ threadId }) => `/api/channels/${threadId}`, { archived: true }),
  row('create invite', 'POST', inServer('/invites'), {}, ['kicking the moderator']),
  row('delete invite', 'DELETE', ({ code }) => `/api/invites/${code}`),
  row('patch server', 'PATCH', inServer(''), { name: 'late' }),
];

describe('writes that were checked before permissions were taken away', () => {
  let api: TestApi;
  let owner: Caller;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());

  const setUp = async (): Promise<Stage> => {
    const { id: serverId, general: channelId } = await makeServer(api, owner);
    const highId = (await makeRole(api, owner, serverId)).id;
    const moderator = await makeMember(api, owner, serverId);
    const roleId = (await makeRole(api, owner, serverId, { permissions: managing })).id;
    const [spareId, lowId] = [(await makeRole(api, owner, serverId)).id, (await makeRole(api, owner, serverId)).id];
    const target = await makeMember(api, owner, serverId);
    await giveRole(api, owner, serverId, moderator.id, roleId);
    await giveRole(api, owner, serverId, target.id, lowId);
    const threadId = (await send<{ id: string }>(api, 201, owner, 'POST', `/api/channels/${channelId}/threads`, { name: 'thread' })).id;
    const webhookId = (await send<Webhook>(api, 201, owner, 'POST', `/api/channels/${channelId}/webhooks`, { name: 'old' })).id;
    const { code } = await makeInvite(api, owner, serverId);
    return { serverId, moderator, roleId, highId, target, lowId, spareId, channelId, threadId, webhookId, code };
  };
  const call = (caller: Caller, [method, path, body]: Request): Promise<Answer> => api.call(method, path, { as: caller.as, body });
  const models = (): { collection: object }[] => {
    const { servers, channels, members, bans, invites, webhooks, notices, removals } = api.platform.db;
    return [servers, channels, members, bans, invites, webhooks, notices, removals];
  };
  /** All documents of a server. */
  const stateOf = async ({ serverId }: Stage): Promise<unknown> => {
    const { servers, channels, members, bans, invites, webhooks } = api.platform.db;
    const inside = [channels, members, bans, invites, webhooks].map((model) =>
      model.collection
        .find({ serverId } as never)
        .sort({ _id: 1 })
        .toArray(),
    );
    return Promise.all([servers.collection.findOne({ _id: serverId as never }), ...inside]);
  };
  /** Stops the next write to the server's documents, just before it is made. Resolves when it is reached, to what lets it go on. */
  const holdWrite = (): Promise<() => void> =>
    new Promise((reached) => {
      const methods = [
        'insertOne',
        'insertMany',
        'updateOne',
        'updateMany',
        'findOneAndUpdate',
        'deleteOne',
        'deleteMany',
        'findOneAndDelete',
      ];
      let isHeld = false;
      for (const { collection } of models())
        for (const method of methods)
          around(collection, method, async (write) => {
            if (!isHeld) {
              isHeld = true;
              await new Promise<void>((go) => {
                reached(go);
              });
            }
            return write();
          });
    });

  for (const { name, write, revokedBy } of rows)
    for (const revocation of revokedBy)
      it(`${name}: nothing of it takes effect after the answer of ${revocation}`, async () => {
        const stage = await setUp();
        const holding = holdWrite();
        const raced = call(stage.moderator, write(stage));
        const go = await holding;
        const before = JSON.stringify(await stateOf(stage));
        let atAnswer: unknown;
        const revoked = call(owner, revocations[revocation](stage)).then(async ({ status }) => {
          atAnswer = await stateOf(stage);
          return status;
        });
        await until(async () => JSON.stringify(await stateOf(stage)) !== before, 'the revocation');
        await Promise.race([revoked, pause(100)]); // an answer that does not wait comes now
        go();
        expect(await revoked).to.be.within(200, 204);
        const { status } = await raced;
        expect(await stateOf(stage), `the moderator's call was answered ${status}`).to.deep.equal(atAnswer);
      });

  it('a call whose body ends after the answer is checked again', async () => {
    const stage = await setUp();
    await call(stage.moderator, ['GET', `/api/servers/${stage.serverId}`]);
    const isIdentified = new Promise<void>((resolve) => {
      around(api.platform, 'gate', (real) => real().finally(resolve));
    });
    const body = JSON.stringify({ name: 'late', kind: 'text' });
    const headers = { Authorization: stage.moderator.as, 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const sent = request(`${api.url}/api/servers/${stage.serverId}/channels`, { method: 'POST', headers });
    const answer = new Promise<string>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => void text(response).then(resolve, reject));
    });
    sent.write(body.slice(0, 5));
    await isIdentified;
    expect((await call(owner, revocations['taking the role'](stage))).status).to.equal(204);
    sent.end(body.slice(5));
    expect(JSON.parse(await answer)).to.include({ code: 'missing_permission' });
  });

  it('a call waits for none that is in flight in another server', async () => {
    const [stage, other] = [await setUp(), await setUp()];
    const holding = holdWrite();
    const raced = call(stage.moderator, ['POST', `/api/servers/${stage.serverId}/channels`, { name: 'late', kind: 'text' }]);
    const go = await holding;
    await makeChannel(api, owner, other.serverId);
    go();
    expect((await raced).status).to.equal(201);
  });

  it('a call whose process died holds up others only until its entry expires', async () => {
    const { config } = api.platform;
    const redis = new Redis(config.REDIS_URL);
    const writes = createManagingWrites(redis, createKeys(config.REDIS_PREFIX, 1), 0.01);
    await redis.ping();
    await writes.enter('1');
    const leave = await writes.enter('1');
    await leave(true);
    redis.disconnect();
  });
});
