import { expect } from 'chai';
import type { NewEntry } from '../../lib/store/redis/log/append.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { contents, useGateway } from './gateway-fixture.ts';

/** A gateway node of an older version than the workers (docs/operations/upgrade.md#formats). */
describe('gateway: entries of a newer format', () => {
  const { fixture, place, bot } = useGateway(1);

  /** Appends an entry as a newer version would. */
  const appendNewer = (): Promise<unknown> => {
    const id = fixture.worker.ids.next();
    const entry = { id, name: 'MESSAGE_CREATE', payload: JSON.stringify({ id, content: 'newer' }), format: 3 } as NewEntry;
    return fixture.worker.eventLog.append(serverPlace(place.server), [entry]);
  };

  it('are not sent; the sessions of their place get op 9, all others go on', async () => {
    const otherServer = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(otherServer);
    const other = fixture.connect();
    await other.identify((await fixture.makeAccount('bot', otherServer)).token);
    const client = fixture.connect();
    await client.identify(bot.token);
    await appendNewer();
    expect((await client.until(9)).d).to.include({ resumable: false });
    expect(await client.closed).to.equal(4000);
    expect(client.frames.filter(({ op }) => op === 0).map(({ t }) => t)).to.not.include('MESSAGE_CREATE');
    const again = fixture.connect();
    await again.identify(bot.token);
    await fixture.post(place.server, place.channel, 'after it');
    expect(contents(await again.events(1))).to.deep.equal(['after it']);
    await fixture.post(otherServer, otherChannel, 'elsewhere');
    expect(contents(await other.events(1))).to.deep.equal(['elsewhere']);
  });

  it('of changes that the version before has written end the sessions of their server, live and in a resume', async () => {
    const session = await fixture.openSession(bot);
    const { client, id, s } = await fixture.openSession(bot);
    await client.cut();
    const old = { id: fixture.worker.ids.next(), name: 'ROLE_UPDATE' as const, payload: JSON.stringify({ serverId: place.server }) };
    await fixture.worker.eventLog.append(serverPlace(place.server), [old]);
    expect((await session.client.until(9)).d).to.include({ resumable: false });
    const again = fixture.connect();
    await again.resume(bot.token, id, s);
    expect((await again.until(9)).d).to.include({ resumable: false });
  });

  it('cannot be resumed over', async () => {
    const session = await fixture.openSession(bot);
    await session.client.cut();
    await appendNewer();
    await fixture.post(place.server, place.channel, 'after it');
    const again = fixture.connect();
    await again.resume(bot.token, session.id, session.s);
    expect((await again.until(9)).d).to.include({ resumable: false });
  });
});
