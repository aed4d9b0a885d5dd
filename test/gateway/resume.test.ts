import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { loadCurrentServerAccess } from '../../lib/domain/access/checks.ts';
import { addEvent, addEventInPipeline } from '../../lib/domain/events/pending.ts';
import { relayEvents, startRelay } from '../../lib/domain/relay/relay.ts';
import { removeChannel } from '../../lib/domain/removals.ts';
import { withLog } from '../harness/intercept.ts';
import type { Client } from './client.ts';
import { contents, type TestAccount, useGateway } from './gateway-fixture.ts';

/** Calls `work` for 0 to count - 1 in that order, fifty at a time: more would exceed the 300 ms that a command may take. */
async function forEachInBatches(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - from) }, (_, i) => work(from + i)));
}

const view = permissionBits['View Channel'];

describe('gateway: resume', () => {
  const { fixture, place, bot } = useGateway(2, { each: true });

  const openSession = (node = 0, who = bot) => fixture.openSession(who, node);

  for (const kind of ['bot', 'person'] as const)
    for (const node of [0, 1])
      it(`${kind}: on ${node ? 'another' : 'the same'} node a resume sends the events after its position, RESUMED, then live events`, async () => {
        const who = await fixture.makeAccount(kind, place.server);
        const { client, id } = await openSession(0, who);
        for (const content of ['seen', 'lost']) await fixture.post(place.server, place.channel, content);
        const [seen] = await client.events(2);
        await client.cut();
        for (const content of ['missed 1', 'missed 2']) await fixture.post(place.server, place.channel, content);
        await fixture.untilReceived(place.server);
        const again = fixture.connect(node);
        await again.resume(who.token, id, String(seen?.s));
        const frames = [await again.next(), await again.next(), await again.next(), await again.next()];
        expect(frames.map(({ t }) => t)).to.deep.equal([...Array(3).fill('MESSAGE_CREATE'), 'RESUMED']);
        expect(frames.map(({ d }) => d.content ?? d.replayed)).to.deep.equal(['lost', 'missed 1', 'missed 2', 3]);
        await fixture.post(place.server, place.channel, 'live');
        expect(contents(await again.events(1))).to.deep.equal(['live']);
      });

  it('takes over the session of an open socket and closes that socket', async () => {
    for (const node of [0, 1]) {
      const { client, id, s } = await openSession();
      const again = fixture.connect(node);
      await again.resume(bot.token, id, s);
      await again.until(0, 'RESUMED');
      expect(await client.closed).to.equal(4000);
      await fixture.post(place.server, place.channel, 'for the new one');
      expect(contents(await again.events(1))).to.deep.equal(['for the new one']);
    }
  });

  it('sends each event once and in order while sessions move between nodes under load', async () => {
    const count = 600;
    const person = await fixture.makeAccount('person', place.server);
    const move = async (who: TestAccount, opened: Awaited<ReturnType<typeof openSession>>): Promise<void> => {
      let { client, s } = opened;
      const got: unknown[] = [];
      const take = async (most: number): Promise<void> => {
        const events = await client.events(most);
        got.push(...contents(events));
        s = events.at(-1)?.s ?? s;
      };
      for (let round = 1; round <= 6; round++) {
        await take(40);
        await client.cut();
        client = fixture.connect(round % 2);
        await client.resume(who.token, opened.id, s);
      }
      await take(count - got.length);
      expect(got).to.deep.equal(Array.from({ length: count }, (_, i) => String(i)));
    };
    const [one, other] = [await openSession(0, bot), await openSession(0, person)];
    const moving = Promise.all([move(bot, one), move(person, other)]);
    for (let i = 0; i < count; i++) await fixture.post(place.server, place.channel, String(i));
    await moving;
  });

  it('replays 2,000 missed events', async () => {
    const { client, id, s } = await openSession();
    await client.cut();
    await forEachInBatches(limits.replayEvents, (i) => fixture.post(place.server, place.channel, String(i)));
    const again = fixture.connect(1);
    await again.resume(bot.token, id, s);
    const events = await again.events(limits.replayEvents);
    expect(new Set(contents(events)).size).to.equal(limits.replayEvents);
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: limits.replayEvents });
  });

  it('sends op 9 when more was missed than is kept; the socket can identify then', async () => {
    const { client, id, s } = await openSession();
    await client.cut();
    await forEachInBatches(limits.replayEvents + 300, (i) => fixture.post(place.server, place.channel, String(i)));
    const again = fixture.connect(1);
    await again.resume(bot.token, id, s);
    expect((await again.next()).d).to.deep.include({ resumable: false });
    again.send({ op: 2, d: { token: bot.token } });
    expect(await again.next()).to.include({ t: 'READY' });
  });

  it('sends op 9 for an invalid position, an unknown session and a session of another bot', async () => {
    const { client, id, s } = await openSession();
    await client.cut();
    const other = await fixture.makeAccount('bot', place.server);
    for (const [token, session, seq] of [
      [bot.token, id, String(Number(s) + 1_000)],
      [bot.token, id, '5'],
      [bot.token, 'nosuchsession', s],
      [other.token, id, s],
    ] as const) {
      const again = fixture.connect();
      await again.resume(token, session, seq);
      expect((await again.next()).d).to.deep.include({ resumable: false });
    }
    const good = fixture.connect();
    await good.resume(bot.token, id, s);
    expect(await good.next()).to.include({ t: 'RESUMED' });
    const { values } = (await fixture.nodes[0]?.node.metrics.invalidSessions.get()) ?? { values: [] };
    expect(Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))).to.deep.equal({
      id_missing: 0,
      session_unknown: 2,
      position_unknown: 2,
      events_lost: 0,
      too_many_missed: 0,
    });
  });

  for (const code of [1000, 1001, 3000])
    it(`a close with ${code} by the client ${code === 3000 ? 'suspends' : 'ends'} the session`, async () => {
      const { client, id, s } = await openSession();
      await client.close(code);
      const again = fixture.connect();
      // The node processes the close before the next socket's messages, and Redis ends the session before the resume.
      await again.resume(bot.token, id, s);
      if (code === 3000) expect(await again.next()).to.include({ t: 'RESUMED' });
      else expect((await again.next()).d).to.deep.include({ resumable: false });
    });

  for (const kind of ['bot', 'person'] as const)
    it(`${kind}: the replay omits events that the account can no longer see`, async () => {
      const who = await fixture.makeAccount(kind, place.server);
      const secret = await fixture.makeChannel(place.server);
      const other = await fixture.makeServer();
      const left = await fixture.makeChannel(other);
      await fixture.join(other, who.id, kind === 'bot');
      const { client, id, s } = await openSession(0, who);
      await client.cut();
      await fixture.post(place.server, place.channel, '1');
      await fixture.post(place.server, secret, '2');
      await fixture.post(other, left, '3');
      await fixture.post(place.server, place.channel, '4');
      await fixture.overwrite(place.server, secret, [{ id: who.id, allow: 0, deny: 1 }]);
      await fixture.leave(other, who.id);
      const again = fixture.connect(1);
      await again.resume(who.token, id, s);
      expect(contents(await again.messages(2))).to.deep.equal(['1', '4']);
      // A person is told as well that the channel and the server are gone.
      expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: kind === 'bot' ? 2 : 4 });
      await fixture.post(place.server, place.channel, '5');
      expect(contents(await again.events(1))).to.deep.equal(['5']);
    });

  /** When a change is relayed of something that is deleted after it. */
  const moments = ['at once, but not acknowledged', 'while the deletion is under way', 'with the deletion'] as const;
  for (const moment of moments)
    describe(`the deletion of what was hidden by a change that is relayed ${moment}`, () => {
      /** Makes the change and the deletion. Returns the names of the events that a person receives who resumes from between them. */
      const missedBy = async (
        person: TestAccount,
        server: string,
        hide: () => Promise<unknown>,
        remove: () => Promise<unknown>,
        after: () => Promise<unknown>,
      ): Promise<unknown[]> => {
        const { worker } = fixture;
        const relay = (platform = worker) => startRelay(platform, 'server', server, { isPatient: false });
        const run = (write: () => Promise<unknown>) => worker.accessVersions.runChange({ servers: [server] }, write);
        await run(hide);
        if (moment === moments[0]) await relay(withLog(worker, { acknowledge: () => Promise.resolve() }));
        const { client, id, s } = await openSession(0, person);
        await client.cut();
        await run(async () => {
          await remove();
          if (moment === moments[1]) await (await relay())();
        });
        await relayEvents(worker, 'server', server);
        await after();
        const again = fixture.connect(1);
        await again.resume(person.token, id, s);
        await again.until(0, 'RESUMED');
        return again.frames.flatMap(({ op, t }) => (op === 0 && t !== 'RESUMED' ? [t] : []));
      };

      it('a role', async () => {
        const { worker } = fixture;
        const { servers } = worker.db;
        const [server, roleId] = [await fixture.makeServer(), worker.ids.next()];
        const channel = await fixture.makeChannel(server);
        const person = await fixture.makeAccount('person', server);
        await fixture.setRoles(server, new Map([[server, 0]]));
        await fixture.setRoles(server, new Map([[roleId, view]]));
        await fixture.setMemberRole(server, person.id, roleId, true);
        const role = { id: roleId, name: 'role', color: null, hoist: false, position: 1, permissions: 0 };
        const was = (permissions: number) => ({ was: { role: { id: roleId, permissions } } });
        const update = addEvent(worker, { name: 'ROLE_UPDATE', data: { roleId }, ...was(view) });
        const missed = await missedBy(
          person,
          server,
          () => servers.updateOne({ _id: server, 'roles.id': roleId }, { $set: { 'roles.$.permissions': 0 }, ...update }),
          async () => {
            if (moment === moments[0]) await fixture.post(server, channel, 'hidden');
            const deletion = addEvent(worker, { name: 'ROLE_DELETE', data: { roleId, role }, ...was(0) });
            await servers.updateOne({ _id: server }, { $pull: { roles: { id: roleId } }, ...deletion });
          },
          () => fixture.setRoles(server, new Map([[server, view]])),
        );
        const hidden = moment === moments[0] ? [] : ['ROLE_UPDATE', 'CHANNEL_DELETE'];
        expect(missed).to.deep.equal([...hidden, 'ROLE_DELETE', 'ROLE_UPDATE', 'CHANNEL_CREATE']);
      });

      it('a channel', async () => {
        const { worker } = fixture;
        const server = await fixture.makeServer();
        const channel = await fixture.makeChannel(server);
        const person = await fixture.makeAccount('person', server);
        const missed = await missedBy(
          person,
          server,
          () => {
            const event = addEventInPipeline(worker, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
            const overwrites = { $literal: [{ id: server, allow: 0, deny: view }] };
            return worker.db.channels.updateOne({ _id: channel }, [{ $set: { overwrites, ...event } }]);
          },
          async () => {
            const access = await loadCurrentServerAccess(worker, server);
            const found = await access?.channel(channel);
            if (access && found) await removeChannel(worker, access, found);
          },
          () => Promise.resolve(),
        );
        expect(missed).to.deep.equal(moment === moments[0] ? [] : ['CHANNEL_DELETE']);
      });
    });

  it('replays a missed interaction with its token only to its session', async () => {
    const [other, { client, id, s }] = [await openSession(), await openSession()];
    await fixture.interact(bot.id, { id: fixture.worker.ids.next() });
    await client.cut();
    const again = fixture.connect();
    await again.resume(bot.token, id, s);
    expect((await again.events(1))[0]?.d.token).to.be.a('string');
    await fixture.post(place.server, place.channel, 'for both');
    expect(contents(await other.client.events(1))).to.deep.equal(['for both']);
  });

  it('clients of a node that stops get op 7 and resume on another node', async () => {
    const node = await fixture.addNode();
    const at = fixture.nodes.indexOf(node);
    const person = await fixture.makeAccount('person', place.server);
    const [one, human] = [await openSession(at), await openSession(at, person)];
    expect(await fixture.worker.connections.areConnected([bot.id, person.id])).to.deep.equal([true, true]);
    await node.close();
    const frame = await one.client.next();
    expect(frame.op).to.equal(7);
    expect(frame.d.retryAfterMs).to.be.within(0, 2_000);
    expect([await one.client.closed, await human.client.closed]).to.deep.equal([1012, 1012]);
    expect(await fixture.worker.connections.areConnected([bot.id, person.id])).to.deep.equal([false, false]);
    await fixture.post(place.server, place.channel, 'meanwhile');
    for (const [{ id, s }, who] of [
      [one, bot],
      [human, person],
    ] as const) {
      const again = fixture.connect(0);
      await again.resume(who.token, id, s);
      expect(contents(await again.events(1))).to.deep.equal(['meanwhile']);
    }
    fixture.nodes.splice(at, 1);
    await node.platform.close();
  });

  it('until it is moved, a client of a node that drains receives the events of a server that it joins, and what the node has missed', async () => {
    const node = await fixture.addNode();
    const at = fixture.nodes.indexOf(node);
    // The first client is moved at once, the second one after half of the time.
    await openSession(at);
    const person = await fixture.makeAccount('person', place.server);
    const { client, id } = await openSession(at, person);
    const draining = node.drain();
    const joined = await fixture.makeServer();
    const channel = await fixture.makeChannel(joined);
    await fixture.join(joined, person.id, false);
    await fixture.post(joined, channel, 'joined');
    expect((await client.until(0, 'MESSAGE_CREATE')).d.content).to.equal('joined');
    await fixture.withoutDelivery(place.server, () => fixture.post(place.server, place.channel, 'missed'));
    const { d, s } = await client.until(0, 'MESSAGE_CREATE');
    expect(d.content).to.equal('missed');
    await client.cut();
    await draining;
    await fixture.post(joined, channel, 'moved');
    const again = fixture.connect(0);
    await again.resume(person.token, id, String(s));
    expect(contents(await again.events(1))).to.deep.equal(['moved']);
    await node.close();
    fixture.nodes.splice(at, 1);
    await node.platform.close();
  });

  it('a new session of a bot with 50 sessions ends the one that is disconnected for longest', async () => {
    const { client, id, s } = await openSession();
    await client.cut();
    const others: Client[] = [];
    for (let i = 0; i < limits.gatewaySessionsPerAccount; i++) others.push((await openSession(i % 2)).client);
    const again = fixture.connect();
    await again.resume(bot.token, id, s);
    expect((await again.next()).d).to.deep.include({ resumable: false });
    await openSession();
    expect(await others[0]?.closed).to.equal(4000);
  });
});
