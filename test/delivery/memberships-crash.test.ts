import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { makeInvite, makeMember, makePerson, makeServer } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { fillMemberships } from '../harness/memberships.ts';
import { sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { startNode } from '../harness/parlance.ts';
import type { Caller } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { expectMembers, finishAll, readServers } from './membership-fixture.ts';

type Request = [as: Caller, method: string, path: string, body?: unknown];

/** The accounts and the server of a test. `person` is in 99 other servers. */
interface Setting {
  owner: Caller;
  person: Caller;
  serverId: string;
}

describe('memberships: an api process dies during a join or a removal', () => {
  // A change counts as under way for 5 s after its process was killed.
  const fixture = use(() => startInteractionFixture({ STORE_TIMEOUT_FACTOR: '2' }));
  const node = use(() => startNode(fixture.worker.config));
  const start = useOwnProcess(() => fixture.worker.config);
  const owner = make(() => makePerson(fixture.api));
  const server = make(() => makeServer(fixture.api, owner), { each: true });

  const join = async ({ owner: inviter, person, serverId }: Setting): Promise<Request> => {
    const { code } = await makeInvite(fixture.api, inviter, serverId);
    return [person, 'POST', `/api/invites/${code}`];
  };
  const leave = ({ person, serverId }: Setting): Request => [person, 'DELETE', `/api/users/@me/servers/${serverId}`];
  const deleteServer = ({ serverId, owner: as }: Setting): Request => [as, 'DELETE', `/api/servers/${serverId}`];
  const createServer = ({ person: as }: Setting): Request => [as, 'POST', '/api/servers', { name: 'x' }];

  /** What a request does before it dies at `failpoint`: whether the person was a member before, and is one after the workers have finished the change. */
  const cases: [name: string, at: Failpoint, request: (of: Setting) => Request | Promise<Request>, was: boolean, is: boolean][] = [
    ['a join, before the member', 'after-membership-claim', join, false, false],
    ['a join, after the member', 'after-member-write', join, false, true],
    ['a new server, before its owner', 'after-membership-claim', createServer, false, false],
    ['a leave, before the member', 'after-departure-intent', leave, true, false],
    ['a leave, after the member', 'after-departure', leave, true, false],
    ['a deleted server, after its members', 'after-departure', deleteServer, true, false],
  ];

  for (const [name, failpoint, request, was, is] of cases)
    it(`${name}: a connect shows the members, and the slot is ${is ? 'kept' : 'free again'}`, async () => {
      const { api } = fixture;
      const person = was ? await makeMember(api, owner, server.id) : await makePerson(api);
      await relayEvents(fixture.worker, 'server', server.id);
      await fillMemberships(api.platform, person.id, 99);
      const [as, method, path, body] = await request({ owner, person, serverId: server.id });
      await sendFatal(await start('api', failpoint), as.as, method, path, body);

      const isDeleted = request === deleteServer;
      await finishAll(fixture, server.id);
      const joined = (await readServers(node, person.token)).filter((id) => id === server.id);
      expect(joined).to.deep.equal(is ? [server.id] : []);
      await expectMembers(fixture, server.id, [...(isDeleted ? [] : [owner.id]), ...(is ? [person.id] : [])]);
      expect(await api.platform.db.memberships.countDocuments({ userId: person.id })).to.equal(is ? 100 : 99);
      expect((await api.call('POST', '/api/servers', { as: person.as, body: { name: 'one more' } })).status).to.equal(is ? 400 : 201);
    });
});
