import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Role } from '../../lib/contract/server.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { Client } from '../gateway/client.ts';
import { giveRole, makeChannel, makeMember, makeRole, makeServer, setOverwrite } from '../harness/factories.ts';
import { startParlance, untilReceived, useRecorder, waitForAll } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newBot, newMember, newRole, useServer } from '../harness/use.ts';

const view = 1;
const admin = 1 << 12;
const names = ['CHANNEL_CREATE', 'CHANNEL_UPDATE', 'CHANNEL_DELETE'];

describe('Events: channels that become visible or hidden', () => {
  const parts = { role: newRole(), roleBot: newBot(), bot: newBot(), holder: newMember(), bystander: newMember() };
  const fixture = useServer(parts, { start: startParlance });
  const { api: parlance, owner, server, role, holder, bystander, ...bots } = fixture;
  before(async () => {
    for (const { id } of [bots.roleBot, holder]) await giveRole(parlance, owner, server.id, id, role.id);
  });
  /** A bot and a person with the role, a bot and a person without it, and the owner. */
  const recorders = {
    roleBot: useRecorder(parlance, bots.roleBot, names),
    rolePerson: useRecorder(parlance, holder),
    bot: useRecorder(parlance, bots.bot, names),
    person: useRecorder(parlance, bystander),
    owner: useRecorder(parlance, owner),
  };

  const at = (path: string): string => `/api/servers/${server.id}${path}`;
  const patchRole = (id: string, permissions: number): Promise<Role> =>
    send(parlance, 200, owner, 'PATCH', at(`/roles/${id}`), { permissions });
  /** Creates a visible channel and waits until everyone has received it, twice. Events that were pending before have arrived then. */
  const waitForPending = async (): Promise<void> => {
    for (let n = 0; n < 2; n++) {
      const { id } = await makeChannel(parlance, owner, server.id);
      await setOverwrite(parlance, owner, id, server.id, view, 0);
      await waitForAll(Object.values(recorders), ({ d }) => d.id === id && (d.overwrites as unknown[] | undefined)?.length === 1);
    }
  };
  /** Runs `act` and returns the events of these channels that each received: `+` for CHANNEL_CREATE, `-` for CHANNEL_DELETE, `~` for CHANNEL_UPDATE. */
  const eventsDuring = async (channels: readonly Channel[], act: () => Promise<unknown>): Promise<Record<string, string>> => {
    await waitForPending();
    const from = Object.entries(recorders).map(([, recorder]) => recorder.received.length);
    await act();
    await waitForPending();
    const signs: Record<string, string> = { CHANNEL_CREATE: '+', CHANNEL_DELETE: '-', CHANNEL_UPDATE: '~' };
    return Object.fromEntries(
      Object.entries(recorders).map(([name, recorder], n) => [
        name,
        recorder.received
          .slice(from[n])
          .filter(({ t, d }) => t in signs && channels.some(({ id }) => id === d.id))
          .map(({ t, d }) => `${signs[t]}${channels.findIndex(({ id }) => id === d.id)}`)
          .toSorted()
          .join(' '),
      ]),
    );
  };
  const all = (what: string) => ({ roleBot: what, rolePerson: what, bot: what, person: what, owner: what });

  it('overwrites that hide a channel from everyone, show it to a role, then to one person, and are removed', async () => {
    const channel = await makeChannel(parlance, owner, server.id);
    let shown: Channel | undefined;
    const set = async (id: string, allow: number, deny: number): Promise<void> => {
      shown = await setOverwrite(parlance, owner, channel.id, id, allow, deny);
    };
    const path = `/api/channels/${channel.id}/overwrites/${server.id}`;
    const steps: [act: () => Promise<unknown>, received: Record<string, string>][] = [
      [() => set(server.id, 0, view), { ...all('-0'), owner: '~0' }],
      [() => set(role.id, view, 0), { ...all(''), roleBot: '+0', rolePerson: '+0', owner: '~0' }],
      [() => set(bystander.id, view, 0), { ...all('~0'), bot: '', person: '+0' }],
      [() => send(parlance, 204, owner, 'DELETE', path), { ...all('~0'), bot: '+0' }],
    ];
    for (const [act, received] of steps) expect(await eventsDuring([channel], act)).to.deep.equal(received);
    // CHANNEL_CREATE has the channel as it was shown, CHANNEL_DELETE its id and server.
    const last = (name: string) => recorders.person.received.findLast(({ t, d }) => t === name && d.id === channel.id)?.d;
    expect([last('CHANNEL_CREATE'), last('CHANNEL_DELETE')]).to.deep.equal([shown, { id: channel.id, serverId: server.id }]);
  });

  it('changes of a role’s permissions show and hide channels for its holders only', async () => {
    const newChannel = (): Promise<Channel> => makeChannel(parlance, owner, server.id);
    const [open, hidden, forRole] = [await newChannel(), await newChannel(), await newChannel()];
    await setOverwrite(parlance, owner, hidden.id, server.id, 0, view);
    await patchRole(server.id, 0b1110);
    await setOverwrite(parlance, owner, forRole.id, role.id, view, 0);
    const holders = (what: string) => ({ ...all(''), roleBot: what, rolePerson: what });
    const memberRole = at(`/members/${holder.id}/roles/${role.id}`);
    const steps: [act: () => Promise<unknown>, received: Record<string, string>][] = [
      [() => patchRole(role.id, view), holders('+0')],
      [() => patchRole(role.id, admin), holders('+1')],
      [() => patchRole(role.id, view | 2), holders('-1')],
      [() => send(parlance, 204, owner, 'DELETE', memberRole), { ...all(''), rolePerson: '-0 -2' }],
      [() => giveRole(parlance, owner, server.id, holder.id, role.id), { ...all(''), rolePerson: '+0 +2' }],
      [() => send(parlance, 204, owner, 'DELETE', at(`/roles/${role.id}`)), { ...holders('-0 -2'), owner: '~2' }],
      [() => patchRole(server.id, 0b1111), { ...all('+0 +2'), owner: '' }],
    ];
    for (const [act, received] of steps) expect(await eventsDuring([open, hidden, forRole], act)).to.deep.equal(received);
    const { members, removals } = parlance.platform.db;
    expect(await members.countDocuments({ roles: role.id })).to.equal(2);
    await removals.updateOne({ _id: role.id }, { $set: { at: new Date(0) } });
    await finishRemoval(parlance.worker, role.id);
    expect([await members.countDocuments({ roles: role.id }), await removals.countDocuments({ _id: role.id })]).to.deep.equal([0, 0]);
  });

  it('parallel changes of a role and an overwrite end in the current visibility', async () => {
    const channel = await makeChannel(parlance, owner, server.id);
    const addedRole = await makeRole(parlance, owner, server.id);
    await giveRole(parlance, owner, server.id, holder.id, addedRole.id);
    const received = await eventsDuring([channel], async () => {
      await Promise.all([
        setOverwrite(parlance, owner, channel.id, server.id, 0, view),
        patchRole(addedRole.id, admin),
        ...Array.from({ length: 5 }, () => relayEvents(parlance.worker, 'server', server.id).catch(() => undefined)),
      ]);
    });
    expect([received.bot, received.person]).to.deep.equal(['-0', '-0']);
    expect(received.rolePerson).to.match(/^(~0|\+0 -0|\+0 -0 ~0)$/);
    const last = recorders.rolePerson.received.findLast(({ t, d }) => names.includes(t) && d.id === channel.id);
    expect(last?.t).to.not.equal('CHANNEL_DELETE');
  });

  it('a new owner gains hidden channels, and the old owner loses them', async () => {
    const channel = await makeChannel(parlance, owner, server.id);
    await setOverwrite(parlance, owner, channel.id, server.id, 0, view);
    const received = await eventsDuring([channel], async () => {
      await send(parlance, 200, owner, 'PATCH', at(''), { ownerId: bystander.id });
      await recorders.person.waitFor(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === channel.id);
      await recorders.owner.waitFor(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === channel.id);
      await send(parlance, 200, bystander, 'PATCH', at(''), { ownerId: owner.id });
    });
    expect(received).to.deep.equal({ ...all(''), owner: '+0 -0', person: '+0 -0' });
  });

  /**
   * Runs `act` while a session of each account is disconnected, and waits for the events of the server. Returns the ids in the CHANNEL_DELETE events that each
   * session receives when it resumes.
   */
  const deletedOnResume = async (
    { id: serverId }: { id: string },
    accounts: readonly { token: string }[],
    act: () => Promise<unknown>,
  ): Promise<unknown[][]> => {
    const port = Number(new URL(parlance.gatewayUrl).port);
    const sessions = await Promise.all(
      accounts.map(async ({ token }) => {
        const client = new Client(port);
        const { d, s = '' } = await client.identify(token);
        await client.cut();
        return { token, id: d.sessionId, s };
      }),
    );
    await act();
    await untilReceived(parlance.node, parlance.worker, serverId);
    const deleted = sessions.map(async ({ token, id, s }) => {
      const client = new Client(port);
      await client.resume(token, id, s);
      await client.until(0, 'RESUMED');
      client.ws.terminate();
      return client.frames.flatMap(({ t, d }) => (t === 'CHANNEL_DELETE' ? [d.id] : []));
    });
    return Promise.all(deleted);
  };

  it('a session that resumes receives CHANNEL_DELETE only for channels that it can no longer view', async () => {
    const other = await makeServer(parlance, owner);
    const people = [owner, await makeMember(parlance, owner, other.id, view), await makeMember(parlance, owner, other.id)];
    const deleted = await deletedOnResume(other, people, async () => {
      await send(parlance, 200, owner, 'PATCH', `/api/servers/${other.id}/roles/${other.id}`, { permissions: 0 });
      await relayEvents(parlance.worker, 'server', other.id);
    });
    expect(deleted).to.deep.equal([[], [], [other.general]]);
  });

  it('a session that resumes receives CHANNEL_DELETE for a channel that two changes hid from it', async () => {
    const other = await makeServer(parlance, owner);
    const deleted = await deletedOnResume(other, [await makeMember(parlance, owner, other.id)], async () => {
      await send(parlance, 200, owner, 'PATCH', `/api/servers/${other.id}/roles/${other.id}`, { permissions: 0 });
      await relayEvents(parlance.worker, 'server', other.id);
      await setOverwrite(parlance, owner, other.general, other.id, 0, view);
      await relayEvents(parlance.worker, 'server', other.id);
    });
    expect(new Set(deleted[0])).to.deep.equal(new Set([other.general]));
  });
});
