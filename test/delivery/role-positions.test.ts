import { expect } from 'chai';
import type { Role } from '../../lib/contract/server.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { startTestApi } from '../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makePerson,
  makeRole,
  makeServer,
  send,
} from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const names = ['ROLE_CREATE', 'ROLE_UPDATE', 'ROLE_DELETE', 'SERVER_UPDATE'];

describe('the positions of roles as events tell them', () => {
  let whole: Whole;
  let owner: Caller;
  let serverId: string;
  let ear: Ear;
  let comer: Bot;
  /** The roles as somebody knows them who read them once and then follows the events. */
  const known = new Map<string, Role>();
  const roles = (): Promise<Role[]> => send(whole, 200, owner, 'GET', `/api/servers/${serverId}/roles`);
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    serverId = (await makeServer(whole, owner)).id;
    ear = await listenAs(whole, (await makeBot(whole, owner, serverId)).token, names);
    comer = await makeApplication(whole, owner);
    for (const role of await roles()) known.set(role.id, role);
  });
  after(async () => {
    await ear.client.close();
    await whole.close();
  });

  let marks = 0;
  let seen = 0;
  /** Runs `act` and follows what is told of it. Answers the names of the roles that a ROLE_UPDATE told of. */
  const follow = async (act: () => Promise<unknown>): Promise<string[]> => {
    await act();
    for (let n = 0; n < 2; n++) {
      const name = `mark ${++marks}`;
      await send(whole, 200, owner, 'PATCH', `/api/servers/${serverId}`, { name });
      await ear.hears(({ t, d }) => t === 'SERVER_UPDATE' && d.name === name);
    }
    const updated: string[] = [];
    for (const { t, d } of ear.heard.slice(seen)) {
      const { role, roleId } = d as { role?: Role; roleId?: string };
      if (role) known.set(role.id, role);
      if (roleId) known.delete(roleId);
      if (role && t === 'ROLE_UPDATE') updated.push(role.name);
    }
    seen = ear.heard.length;
    expect([...known.values()].toSorted((one, other) => other.position - one.position)).to.deep.equal(await roles());
    return updated.toSorted();
  };
  const path = ({ id }: Role): string => `/api/servers/${serverId}/roles/${id}`;
  const move = (role: Role, position: number): Promise<Role> => send(whole, 200, owner, 'PATCH', path(role), { position });

  it('each role that another one shifts is told once, and no other', async () => {
    const own = [...known.values()].find(({ position }) => position === 1)?.name ?? expect.fail();
    const made: Role[] = [];
    const make = async (name: string, position?: number): Promise<void> => {
      made.push(await makeRole(whole, owner, serverId, { name, ...(position === undefined ? {} : { position }) }));
    };
    expect(await follow(() => make('a'))).to.deep.equal([own]);
    expect(await follow(() => make('b', 3))).to.deep.equal([]);
    expect(await follow(() => make('c', 2))).to.deep.equal([own, 'b'].toSorted());
    expect(await follow(() => make('d'))).to.deep.equal([own, 'a', 'b', 'c'].toSorted());
    const [a, b, c, d] = made as [Role, Role, Role, Role];
    // d a c own b, from the bottom.
    expect(await follow(() => move(a, 3))).to.deep.equal(['a', 'c']);
    expect(await follow(() => move(b, 1))).to.deep.equal([own, 'a', 'b', 'c', 'd'].toSorted());
    expect(await follow(() => send(whole, 200, owner, 'PATCH', path(c), { name: 'C', position: 3 }))).to.deep.equal(['C']);
    expect(await follow(() => send(whole, 204, owner, 'DELETE', path(a)))).to.deep.equal([own]);
    expect(await follow(() => send(whole, 204, owner, 'DELETE', path(d)))).to.deep.equal(['C', own].toSorted());
  });

  it('a bot comes with its own role and goes with it', async () => {
    const others = [...known.values()].filter(({ position }) => position > 0).map(({ name }) => name);
    expect(await follow(() => authorize(whole, owner, comer, serverId))).to.deep.equal(others.toSorted());
    expect(await follow(() => send(whole, 204, owner, 'DELETE', `/api/servers/${serverId}/members/${comer.id}`))).to.deep.equal(
      others.toSorted(),
    );
  });

  it('12 roles are made, moved and deleted at once while many drain: in the end everybody knows where each stands', async () => {
    await follow(() =>
      Promise.all([
        ...Array.from({ length: 12 }, async (_, n) => {
          const role = await makeRole(whole, owner, serverId);
          await move(role, n + 1);
          if (n % 3 === 0) await send(whole, 204, owner, 'DELETE', path(role));
        }),
        ...Array.from({ length: 5 }, () => relay(whole.worker, 'server', serverId).catch(() => undefined)),
      ]),
    );
    expect(known.size).to.equal(12);
  });
});

describe('what a server owes of its roles', () => {
  it('is one entry for each change, however many roles it shifts', async () => {
    const api = await startTestApi();
    const owner = await makePerson(api);
    const { id } = await makeServer(api, owner);
    for (let n = 0; n < 5; n++) await makeRole(api, owner, id);
    expect((await api.platform.db.servers.findOne({ _id: id }).lean())?.ob).to.have.length(5);
    await api.close();
  });
});
