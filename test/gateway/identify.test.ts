import { expect } from 'chai';
import { maxEventFilters } from '../../apps/gateway/node.ts';
import { type EventName, events, optInEvents } from '../../lib/contract/events.ts';
import { useGateway } from './gateway-fixture.ts';

describe('gateway: events of an identify', () => {
  const { fixture, place, bot } = useGateway(1);

  /** Identifies with `requested` as `events`, which may be anything. */
  const identify = async (token: string, requested: unknown) => {
    const client = fixture.connect();
    await client.until(10);
    client.send({ op: 2, d: { token, events: requested } });
    return client;
  };

  const notList = 'events must be a list of the names of events.';
  const cannot = 'Bots cannot ask for these events:';
  const refused: [what: string, events: unknown, reason: string][] = [
    ['text', 'MESSAGE_UPDATE', notList],
    ['null', null, notList],
    ['an object', { 0: 'MESSAGE_UPDATE', length: 1 }, notList],
    ['a number', 7, notList],
    ['a list with a number', ['MESSAGE_UPDATE', 7], notList],
    ['a list of lists', [['MESSAGE_UPDATE']], notList],
    ['one unknown name', ['MESSAGE_UPDATE', 'MESSAGE_EDIT'], `${cannot} "MESSAGE_EDIT".`],
    ['a name in lower case', ['message_update'], `${cannot} "message_update".`],
    ['an event for people only', ['READ_UPDATE'], `${cannot} "READ_UPDATE".`],
    ['a name of every object', ['constructor', '__proto__'], `${cannot} "constructor", "__proto__".`],
    ['the same unknown name twice', ['A', 'A'], `${cannot} "A".`],
    [
      'many unknown names',
      Array.from({ length: 1000 }, (_, i) => `E${i}`),
      `${cannot} "E0", "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11" and 988 more.`,
    ],
    ['a long name', ['x'.repeat(5000)], `${cannot} "${'x'.repeat(40)}…".`],
    ['a long name of emoji', ['😀'.repeat(1000)], `${cannot} "${'😀'.repeat(10)}…".`],
    ['control characters and a lone surrogate', ['\u0000\n"\ud800'], `${cannot} "\\u0000\\n\\"\\ud800".`],
    ['an empty name', [''], `${cannot} "".`],
  ];
  for (const [what, requested, reason] of refused)
    it(`closes with 4002 for ${what}`, async () => {
      const client = await identify(bot.token, requested);
      expect(await client.closed).to.equal(4002);
      expect(client.closeReason).to.equal(reason);
      expect(Buffer.byteLength(client.closeReason)).to.be.at.most(123);
    });

  it('keeps the filters of a limited number of combinations of events', async () => {
    const { node } = fixture.nodes[0] ?? expect.fail();
    for (let at = 0; at <= maxEventFilters; at++) {
      const requested = optInEvents.filter((_, bit) => (at >> bit) % 2 === 1);
      const client = await identify(bot.token, requested);
      expect((await client.until(0, 'READY')).d.events).to.include.members(requested);
      await client.close(1000);
    }
    expect(node.eventFilters.size).to.equal(maxEventFilters);
  });

  it('closes with 4004 for a wrong token, even with an unknown name', async () => {
    expect(await (await identify('x', ['NOTHING'])).closed).to.equal(4004);
  });

  const accepted: [what: string, requested: readonly string[] | undefined, received: readonly EventName[]][] = [
    ['no list', undefined, ['INTERACTION_CREATE', 'MESSAGE_CREATE']],
    ['an empty list', [], ['INTERACTION_CREATE', 'MESSAGE_CREATE']],
    ['names that every bot receives', ['MESSAGE_CREATE', 'INTERACTION_CREATE'], ['INTERACTION_CREATE', 'MESSAGE_CREATE']],
    ['a name twice', ['TYPING_START', 'TYPING_START'], ['INTERACTION_CREATE', 'MESSAGE_CREATE', 'TYPING_START']],
    ['every name', optInEvents, (['INTERACTION_CREATE', 'MESSAGE_CREATE', ...optInEvents] as EventName[]).sort()],
  ];
  for (const [what, requested, received] of accepted)
    it(`READY of a bot lists the events that it receives, sorted: ${what}`, async () => {
      const ready = await (await identify(bot.token, requested)).until(0, 'READY');
      expect(ready.d.events).to.deep.equal(received);
    });

  it('READY of a person lists all events of people, whatever the names that it sent; only the form is checked', async () => {
    const person = await fixture.makeAccount('person', place.server);
    const ofPeople = Object.keys(events)
      .filter((name) => name !== 'INTERACTION_CREATE')
      .sort();
    for (const requested of [undefined, [], ['MESSAGE_UPDATE', 'NOTHING']]) {
      const ready = await (await identify(person.token, requested)).until(0, 'READY');
      expect(ready.d.events).to.deep.equal(ofPeople);
    }
    const client = await identify(person.token, 'all');
    expect(await client.closed).to.equal(4002);
    expect(client.closeReason).to.equal(notList);
  });
});
