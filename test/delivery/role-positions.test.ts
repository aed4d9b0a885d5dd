import { expect } from 'chai';
import type { Role } from '../../lib/contract/server.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { authorize, makeRole } from '../harness/factories.ts';
import { startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newApplication, newBot, useServer } from '../harness/use.ts';

const names = ['ROLE_CREATE', 'ROLE_UPDATE', 'ROLE_DELETE', 'SERVER_UPDATE'];

describe('Events: positions of roles', () => {
  const fixture = useServer({ bot: newBot(), addedBot: newApplication() }, { start: startParlance });
  const { api: parlance, owner, server, bot, addedBot } = fixture;
  const recorder = useRecorder(parlance, bot, names);
  /** The roles as a client knows them that read them once and then applies the events. */
  const known = new Map<string, Role>();
  const roles = (): Promise<Role[]> => send(parlance, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
  before(async () => {
    for (const role of await roles()) known.set(role.id, role);
  });

  let lastMark = 0;
  let seen = 0;
  /** Runs `act` and applies its events. Returns the names of the roles in ROLE_UPDATE events. */
  const applyEvents = async (act: () => Promise<unknown>): Promise<string[]> => {
    await act();
    for (let n = 0; n < 2; n++) {
      const name = `mark ${++lastMark}`;
      await send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name });
      await recorder.waitFor(({ t, d }) => t === 'SERVER_UPDATE' && d.name === name);
    }
    const updated: string[] = [];
    for (const { t, d } of recorder.received.slice(seen)) {
      const { role, roleId } = d as { role?: Role; roleId?: string };
      if (role) known.set(role.id, role);
      if (roleId) known.delete(roleId);
      if (role && t === 'ROLE_UPDATE') updated.push(role.name);
    }
    seen = recorder.received.length;
    expect([...known.values()].toSorted((one, other) => other.position - one.position)).to.deep.equal(await roles());
    return updated.toSorted();
  };
  const path = ({ id }: Role): string => `/api/servers/${server.id}/roles/${id}`;
  const move = (role: Role, position: number): Promise<Role> => send(parlance, 200, owner, 'PATCH', path(role), { position });

  it('sends one ROLE_UPDATE for each role that another one shifts, and no other', async () => {
    const own = [...known.values()].find(({ position }) => position === 1)?.name ?? expect.fail();
    const made: Role[] = [];
    const make = async (name: string, position?: number): Promise<void> => {
      made.push(await makeRole(parlance, owner, server.id, { name, ...(position === undefined ? {} : { position }) }));
    };
    expect(await applyEvents(() => make('a'))).to.deep.equal([own]);
    expect(await applyEvents(() => make('b', 3))).to.deep.equal([]);
    expect(await applyEvents(() => make('c', 2))).to.deep.equal([own, 'b'].toSorted());
    expect(await applyEvents(() => make('d'))).to.deep.equal([own, 'a', 'b', 'c'].toSorted());
    const [a, b, c, d] = made as [Role, Role, Role, Role];
    // d a c own b, from the bottom.
    expect(await applyEvents(() => move(a, 3))).to.deep.equal(['a', 'c']);
    expect(await applyEvents(() => move(b, 1))).to.deep.equal([own, 'a', 'b', 'c', 'd'].toSorted());
    expect(await applyEvents(() => send(parlance, 200, owner, 'PATCH', path(c), { name: 'C', position: 3 }))).to.deep.equal(['C']);
    expect(await applyEvents(() => send(parlance, 204, owner, 'DELETE', path(a)))).to.deep.equal([own]);
    expect(await applyEvents(() => send(parlance, 204, owner, 'DELETE', path(d)))).to.deep.equal(['C', own].toSorted());
  });

  it('adding and removing a bot shifts the other roles', async () => {
    const others = [...known.values()].filter(({ position }) => position > 0).map(({ name }) => name);
    expect(await applyEvents(() => authorize(parlance, owner, addedBot, server.id))).to.deep.equal(others.toSorted());
    const remove = () => send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${addedBot.id}`);
    expect(await applyEvents(remove)).to.deep.equal(others.toSorted());
  });

  it('clients know all positions after 12 roles were made, moved and deleted in parallel with several relays', async () => {
    await applyEvents(() =>
      Promise.all([
        ...Array.from({ length: 12 }, async (_, n) => {
          const role = await makeRole(parlance, owner, server.id);
          await move(role, n + 1);
          if (n % 3 === 0) await send(parlance, 204, owner, 'DELETE', path(role));
        }),
        ...Array.from({ length: 5 }, () => relayEvents(parlance.worker, 'server', server.id).catch(() => undefined)),
      ]),
    );
    expect(known.size).to.equal(12);
  });
});

describe('Events: the outbox of a server after changes of roles', () => {
  const { api, owner, server } = useServer();

  it('has one entry for each change, however many roles it shifts', async () => {
    for (let n = 0; n < 5; n++) await makeRole(api, owner, server.id);
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.outbox).to.have.length(5);
  });
});
