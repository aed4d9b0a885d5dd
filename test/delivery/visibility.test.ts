import { expect } from 'chai';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Role } from '../../lib/contract/server.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { Client } from '../gateway/client.ts';
import {
  type Caller,
  giveRole,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  send,
  setOverwrite,
} from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const view = 1;
const admin = 1 << 12;
const names = ['CHANNEL_CREATE', 'CHANNEL_UPDATE', 'CHANNEL_DELETE'];

describe('channels that become visible or hidden', function () {
  this.timeout(180_000); // each step is heard to its end by five sessions
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  /** A bot and a person with the role, and a bot and a person without; the owner. */
  let role: Role;
  let ears: Record<'roleBot' | 'rolePerson' | 'bot' | 'person' | 'boss', Ear>;
  let holder: Caller;
  let bystander: Caller;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    role = await makeRole(whole, owner, server.id);
    const [one, other] = [await makeBot(whole, owner, server.id), await makeBot(whole, owner, server.id)];
    [holder, bystander] = [await makeMember(whole, owner, server.id), await makeMember(whole, owner, server.id)];
    for (const { id } of [one, holder]) await giveRole(whole, owner, server.id, id, role.id);
    ears = {
      roleBot: await listenAs(whole, one.token, names),
      rolePerson: await listenAs(whole, holder.token),
      bot: await listenAs(whole, other.token, names),
      person: await listenAs(whole, bystander.token),
      boss: await listenAs(whole, owner.token),
    };
  });
  after(async () => {
    await Promise.all(Object.values(ears).map((ear) => ear.client.close()));
    await whole.close();
  });

  const at = (path: string): string => `/api/servers/${server.id}${path}`;
  const patchRole = (id: string, permissions: number): Promise<Role> =>
    send(whole, 200, owner, 'PATCH', at(`/roles/${id}`), { permissions });
  /** Waits until all have heard of a fresh channel that everybody sees: what was owed before has been told then, in the second round at the latest. */
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 2; n++) {
      const { id } = await makeChannel(whole, owner, server.id);
      await setOverwrite(whole, owner, id, server.id, view, 0);
      await Promise.all(
        Object.values(ears).map((ear) => ear.hears(({ d }) => d.id === id && (d.overwrites as unknown[] | undefined)?.length === 1)),
      );
    }
  };
  /** What each heard of these channels while `act` ran: `+` for CHANNEL_CREATE, `-` for CHANNEL_DELETE, `~` for CHANNEL_UPDATE. */
  const heardOf = async (channels: readonly Channel[], act: () => Promise<unknown>): Promise<Record<string, string>> => {
    await settle();
    const from = Object.entries(ears).map(([, ear]) => ear.heard.length);
    await act();
    await settle();
    const signs: Record<string, string> = { CHANNEL_CREATE: '+', CHANNEL_DELETE: '-', CHANNEL_UPDATE: '~' };
    return Object.fromEntries(
      Object.entries(ears).map(([name, ear], n) => [
        name,
        ear.heard
          .slice(from[n])
          .filter(({ t, d }) => t in signs && channels.some(({ id }) => id === d.id))
          .map(({ t, d }) => `${signs[t]}${channels.findIndex(({ id }) => id === d.id)}`)
          .toSorted()
          .join(' '),
      ]),
    );
  };
  const all = (what: string) => ({ roleBot: what, rolePerson: what, bot: what, person: what, boss: what });

  it('an overwrite hides it from everyone, shows it to a role, then to one person, and is taken away', async () => {
    const channel = await makeChannel(whole, owner, server.id);
    const heard = (act: () => Promise<unknown>) => heardOf([channel], act);
    expect(await heard(() => setOverwrite(whole, owner, channel.id, server.id, 0, view))).to.deep.equal({ ...all('-0'), boss: '~0' });
    expect(await heard(() => setOverwrite(whole, owner, channel.id, role.id, view, 0))).to.deep.equal({
      ...all(''),
      roleBot: '+0',
      rolePerson: '+0',
      boss: '~0',
    });
    expect(await heard(() => setOverwrite(whole, owner, channel.id, bystander.id, view, 0))).to.deep.equal({
      ...all('~0'),
      bot: '',
      person: '+0',
    });
    const path = `/api/channels/${channel.id}/overwrites/${server.id}`;
    expect(await heard(() => send(whole, 204, owner, 'DELETE', path))).to.deep.equal({ ...all('~0'), bot: '+0' });
  });

  it('what is told is the channel as it is now, and that one is gone', async () => {
    const channel = await makeChannel(whole, owner, server.id);
    await settle();
    await setOverwrite(whole, owner, channel.id, server.id, 0, view);
    for (const ear of [ears.bot, ears.person]) {
      const { d } = await ear.hears(({ t, d: gone }) => t === 'CHANNEL_DELETE' && gone.id === channel.id);
      expect(d).to.deep.equal({ id: channel.id, serverId: server.id });
    }
    const count = [ears.bot, ears.person].map((ear) => ear.heard.length);
    const shown = await setOverwrite(whole, owner, channel.id, server.id, view, 0);
    for (const [n, ear] of [ears.bot, ears.person].entries()) {
      await ear.hears(
        (event) => ear.heard.indexOf(event) >= (count[n] as number) && event.t === 'CHANNEL_CREATE' && event.d.id === channel.id,
      );
      const found = ear.heard.findLast(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === channel.id);
      expect(found?.d).to.deep.equal(shown);
    }
  });

  it('a role that may view, everything or nothing, and goes: its holders gain and lose each channel, and nobody else does', async () => {
    const [open, shut, forRole] = [
      await makeChannel(whole, owner, server.id),
      await makeChannel(whole, owner, server.id),
      await makeChannel(whole, owner, server.id),
    ];
    await setOverwrite(whole, owner, shut.id, server.id, 0, view);
    await patchRole(server.id, 0b1110);
    await setOverwrite(whole, owner, forRole.id, role.id, view, 0);
    const heard = (act: () => Promise<unknown>) => heardOf([open, shut, forRole], act);
    const holders = (what: string) => ({ ...all(''), roleBot: what, rolePerson: what });
    expect(await heard(() => patchRole(role.id, view))).to.deep.equal(holders('+0'));
    expect(await heard(() => patchRole(role.id, admin))).to.deep.equal(holders('+1'));
    expect(await heard(() => patchRole(role.id, view | 2))).to.deep.equal(holders('-1'));
    expect(await heard(() => send(whole, 204, owner, 'DELETE', at(`/members/${holder.id}/roles/${role.id}`)))).to.deep.equal({
      ...all(''),
      rolePerson: '-0 -2',
    });
    expect(await heard(() => giveRole(whole, owner, server.id, holder.id, role.id))).to.deep.equal({ ...all(''), rolePerson: '+0 +2' });
    expect(await heard(() => send(whole, 204, owner, 'DELETE', at(`/roles/${role.id}`)))).to.deep.equal({
      ...holders('-0 -2'),
      boss: '~2',
    });
    expect(await heard(() => patchRole(server.id, 0b1111))).to.deep.equal({ ...all('+0 +2'), boss: '' });
    const { members, removals } = whole.platform.db;
    expect(await members.countDocuments({ roles: role.id })).to.equal(2);
    await removals.updateOne({ _id: role.id }, { $set: { at: new Date(0) } });
    await finishRemoval(whole.worker, role.id);
    expect([await members.countDocuments({ roles: role.id }), await removals.countDocuments({ _id: role.id })]).to.deep.equal([0, 0]);
  });

  it('changes of a role, of overwrites and of an owner’s roles that wait together end in what is so now', async () => {
    const channel = await makeChannel(whole, owner, server.id);
    const fresh = await makeRole(whole, owner, server.id);
    await giveRole(whole, owner, server.id, holder.id, fresh.id);
    const heard = await heardOf([channel], async () => {
      await Promise.all([
        setOverwrite(whole, owner, channel.id, server.id, 0, view),
        patchRole(fresh.id, admin),
        ...Array.from({ length: 5 }, () => relay(whole.worker, 'server', server.id).catch(() => undefined)),
      ]);
    });
    expect([heard.bot, heard.person]).to.deep.equal(['-0', '-0']);
    expect(heard.rolePerson).to.match(/^(~0|\+0 -0|\+0 -0 ~0)$/);
    const last = ears.rolePerson.heard.findLast(({ t, d }) => names.includes(t) && d.id === channel.id);
    expect(last?.t).to.not.equal('CHANNEL_DELETE');
  });

  it('a server handed over: who had it loses what is hidden, who has it gains it', async () => {
    const channel = await makeChannel(whole, owner, server.id);
    await setOverwrite(whole, owner, channel.id, server.id, 0, view);
    const heard = await heardOf([channel], async () => {
      await send(whole, 200, owner, 'PATCH', at(''), { ownerId: bystander.id });
      await ears.person.hears(({ t, d }) => t === 'CHANNEL_CREATE' && d.id === channel.id);
      await ears.boss.hears(({ t, d }) => t === 'CHANNEL_DELETE' && d.id === channel.id);
      await send(whole, 200, bystander, 'PATCH', at(''), { ownerId: owner.id });
    });
    expect(heard).to.deep.equal({ ...all(''), boss: '+0 -0', person: '+0 -0' });
  });

  it('who was away while a role hid channels is told of those that they lost, and of none that they still view', async () => {
    const place = await makeServer(whole, owner);
    const people = [owner, await makeMember(whole, owner, place.id, view), await makeMember(whole, owner, place.id)];
    const port = Number(new URL(whole.gatewayUrl).port);
    const sessions = await Promise.all(
      people.map(async ({ token }) => {
        const client = new Client(port);
        const { d, s = '' } = await client.identify(token);
        await client.cut();
        return { token, id: d.sessionId, s };
      }),
    );
    await send(whole, 200, owner, 'PATCH', `/api/servers/${place.id}/roles/${place.id}`, { permissions: 0 });
    await relay(whole.worker, 'server', place.id);
    const lost = sessions.map(async ({ token, id, s }) => {
      const client = new Client(port);
      await client.resume(token, id, s);
      await client.until(0, 'RESUMED');
      client.ws.terminate();
      return client.frames.flatMap(({ t, d }) => (t === 'CHANNEL_DELETE' ? [d.id] : []));
    });
    expect(await Promise.all(lost)).to.deep.equal([[], [], [place.general]]);
  });
});
