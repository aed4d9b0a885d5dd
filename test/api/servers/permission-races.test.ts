import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Webhook } from '../../../lib/contract/webhook.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { createManagingWrites } from '../../../lib/store/redis/managing-writes.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { giveRole, makeChannel, makeInvite, makeMember, makePerson, makeRole, makeServer } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { holdNext, interceptNext } from '../../harness/intercept.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { fillPath } from '../../harness/route-samples.ts';
import { make, use } from '../../harness/use.ts';

/** All permissions except Administrator. */
const managing = (1 << 12) - 1;

/** A server with a moderator. `ids` has the ids of what the moderator may change, by the names in the paths below. */
interface RaceFixture {
  serverId: string;
  moderator: Caller;
  ids: Record<string, string>;
}

type Request = [method: string, path: string, body?: unknown];
/** Requests that take permissions away from the moderator, by their name in a test's title. */
const revocations = {
  'removing the role': ['DELETE', '/api/servers/{server}/members/{moderator}/roles/{role}'],
  'giving the target a higher role': ['PUT', '/api/servers/{server}/members/{target}/roles/{high}'],
  'kicking the moderator': ['DELETE', '/api/servers/{server}/members/{moderator}'],
  'denying by an overwrite': ['PUT', '/api/channels/{channel}/overwrites/{moderator}', { allow: 0, deny: managing }],
} satisfies Record<string, Request>;
type Revocation = keyof typeof revocations;

const roleLost: Revocation[] = ['removing the role'];
const roleOrMembershipLost: Revocation[] = ['removing the role', 'kicking the moderator'];
const outranked: Revocation[] = ['removing the role', 'giving the target a higher role'];
const denied: Revocation[] = ['removing the role', 'denying by an overwrite'];
const rows: [name: string, revokedBy: Revocation[], ...request: Request][] = [
  ['create role', roleOrMembershipLost, 'POST', '/api/servers/{server}/roles', { name: 'late' }],
  ['patch role', roleLost, 'PATCH', '/api/servers/{server}/roles/{low}', { permissions: 3 }],
  ['delete role', roleLost, 'DELETE', '/api/servers/{server}/roles/{low}'],
  ['give role', roleOrMembershipLost, 'PUT', '/api/servers/{server}/members/{target}/roles/{spare}'],
  ['remove role', roleLost, 'DELETE', '/api/servers/{server}/members/{target}/roles/{low}'],
  ['kick', outranked, 'DELETE', '/api/servers/{server}/members/{target}'],
  ['ban', outranked, 'PUT', '/api/servers/{server}/bans/{target}', {}],
  ['create channel', roleLost, 'POST', '/api/servers/{server}/channels', { name: 'late', kind: 'text' }],
  ['patch channel', denied, 'PATCH', '/api/channels/{channel}', { topic: 'late' }],
  ['delete channel', roleLost, 'DELETE', '/api/channels/{channel}'],
  ['put overwrite', outranked, 'PUT', '/api/channels/{channel}/overwrites/{target}', { allow: 1, deny: 2 }],
  ['create webhook', denied, 'POST', '/api/channels/{channel}/webhooks', { name: 'late' }],
  ['delete webhook', roleLost, 'DELETE', '/api/webhooks/{webhook}'],
  ['archive thread', roleLost, 'PATCH', '/api/channels/{thread}', { archived: true }],
  ['create invite', ['kicking the moderator'], 'POST', '/api/servers/{server}/invites', {}],
  ['delete invite', roleLost, 'DELETE', '/api/invites/{code}'],
  ['patch server', roleLost, 'PATCH', '/api/servers/{server}', { name: 'late' }],
];

describe('writes that were checked before their permissions were taken away', () => {
  const api = use(startTestApi);
  const owner = make(() => makePerson(api));

  const setUp = async (): Promise<RaceFixture> => {
    const { id: server, general: channel } = await makeServer(api, owner);
    const addRole = async (permissions?: number): Promise<string> =>
      (await makeRole(api, owner, server, permissions === undefined ? {} : { permissions })).id;
    const high = await addRole();
    const moderator = await makeMember(api, owner, server);
    const [role, spare, low] = [await addRole(managing), await addRole(), await addRole()];
    const target = await makeMember(api, owner, server);
    await giveRole(api, owner, server, moderator.id, role);
    await giveRole(api, owner, server, target.id, low);
    const { id: thread } = await send<{ id: string }>(api, 201, owner, 'POST', `/api/channels/${channel}/threads`, { name: 'thread' });
    const { id: webhook } = await send<Webhook>(api, 201, owner, 'POST', `/api/channels/${channel}/webhooks`, { name: 'old' });
    const { code } = await makeInvite(api, owner, server);
    const ids = { server, moderator: moderator.id, role, high, target: target.id, low, spare, channel, thread, webhook, code };
    return { serverId: server, moderator, ids };
  };
  const call = ({ ids }: RaceFixture, caller: Caller, [method, path, body]: Request): Promise<Answer> =>
    api.call(
      method,
      fillPath(path, (name) => String(ids[name])),
      { as: caller.as, body },
    );
  /** The documents of a server. */
  const stateOf = async ({ serverId }: RaceFixture): Promise<unknown> => {
    const { servers, channels, members, bans, invites, webhooks } = api.platform.db;
    const inside = [channels, members, bans, invites, webhooks].map((model) => model.find({ serverId }).sort({ _id: 1 }).toArray());
    return Promise.all([servers.findOne({ _id: serverId }), ...inside]);
  };
  /** Stops the next write to the server's documents just before it is made. Resolves when it is stopped, with the function that lets it continue. */
  const holdWrite = (): Promise<() => void> => {
    const { servers, channels, members, bans, invites, webhooks, notices, removals } = api.platform.db;
    const collections = [servers, channels, members, bans, invites, webhooks, notices, removals];
    const inserts = ['insertOne', 'insertMany', 'updateOne', 'updateMany'];
    return holdNext(collections, [...inserts, 'findOneAndUpdate', 'deleteOne', 'deleteMany', 'findOneAndDelete']);
  };

  for (const [name, revokedBy, ...write] of rows)
    for (const revocation of revokedBy)
      it(`${name}: changes nothing after the response to ${revocation}`, async () => {
        const fixture = await setUp();
        const holding = holdWrite();
        const raced = call(fixture, fixture.moderator, write);
        const go = await holding;
        const before = JSON.stringify(await stateOf(fixture));
        let atAnswer: unknown;
        const revoked = call(fixture, owner, revocations[revocation]).then(async ({ status }) => {
          atAnswer = await stateOf(fixture);
          return status;
        });
        await waitUntil(async () => JSON.stringify(await stateOf(fixture)) !== before, 'the revocation');
        await Promise.race([revoked, pause(100)]); // an answer that does not wait comes within this time
        go();
        expect(await revoked).to.be.within(200, 204);
        const { status } = await raced;
        expect(await stateOf(fixture), `the moderator's call was answered ${status}`).to.deep.equal(atAnswer);
      });

  it('a request whose body ends after the revocation is refused', async () => {
    const fixture = await setUp();
    await call(fixture, fixture.moderator, ['GET', '/api/servers/{server}']);
    const isIdentified = new Promise<void>((resolve) => {
      interceptNext(api.platform, 'preflight', (real) => real().finally(resolve));
    });
    const body = JSON.stringify({ name: 'late', kind: 'text' });
    const headers = { Authorization: fixture.moderator.as, 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const sent = request(`${api.url}/api/servers/${fixture.serverId}/channels`, { method: 'POST', headers });
    const answer = new Promise<string>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => void text(response).then(resolve, reject));
    });
    sent.write(body.slice(0, 5));
    await isIdentified;
    expect((await call(fixture, owner, revocations['removing the role'])).status).to.equal(204);
    sent.end(body.slice(5));
    expect(JSON.parse(await answer)).to.include({ code: 'missing_permission' });
  });

  it('a request does not wait for one in another server', async () => {
    const [fixture, other] = [await setUp(), await setUp()];
    const holding = holdWrite();
    const raced = call(fixture, fixture.moderator, ['POST', '/api/servers/{server}/channels', { name: 'late', kind: 'text' }]);
    const go = await holding;
    await makeChannel(api, owner, other.serverId);
    go();
    expect((await raced).status).to.equal(201);
  });

  it('a request whose process died blocks others only until its entry expires', async () => {
    const { config } = api.platform;
    const redis = new Redis(config.REDIS_URL);
    const writes = createManagingWrites(redis, createKeys(config.REDIS_PREFIX, 1), 0.01);
    await redis.ping();
    await writes.begin('1');
    const leave = await writes.begin('1');
    await leave(true);
    redis.disconnect();
  });
});
