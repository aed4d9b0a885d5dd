import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { TObject, TSchema } from 'typebox';
import { botEvents, events, optInEvents } from '../../lib/contract/events.ts';
import { type JobEntry, jobs, queues } from '../../lib/contract/jobs.ts';
import { Id } from '../../lib/contract/shared.ts';
import { handlers } from '../../workers/handlers.ts';

const entries = Object.entries(jobs as unknown as Record<string, JobEntry>);
/** Files of workers/ that are no job. */
const frame = ['main.ts', 'start.ts', 'handlers.ts', 'sweep.ts', 'image-encoder.ts', 'image-encoder-child.ts'];
const propertiesOf = (schema: TSchema): [string, TSchema][] => Object.entries((schema as TObject).properties);
/** Data of a job in which every id is this. */
const dataOf = (entry: JobEntry, id: string): Record<string, string> =>
  Object.fromEntries(propertiesOf(entry.data).map(([name]) => [name, id]));
const keyOf = (entry: JobEntry, id: string): string => (entry.key as (data: unknown) => string)(dataOf(entry, id));

describe('jobs', () => {
  it('each has a handler, in a file of its name in workers/ unless it only relays', () => {
    const names = entries.map(([name]) => name);
    expect(Object.keys(handlers)).to.have.members(names);
    const files = readdirSync('workers').filter((file) => !frame.includes(file));
    expect(files).to.have.members(names.filter((name) => !name.startsWith('relay-')).map((name) => `${name}.ts`));
  });

  for (const [name, entry] of entries)
    describe(name, () => {
      it('has a name of small words, a queue that runs, attempts and waits between them', () => {
        expect(name).to.match(/^[a-z]+(-[a-z]+)+$/);
        expect(queues).to.have.property(entry.queue);
        expect(entry.attempts).to.be.within(1, 50);
        if (entry.attempts > 1) expect(entry.backoffMs?.first).to.be.within(1, entry.backoffMs?.most ?? 0);
      });

      it('holds ids only', () => {
        for (const [field, schema] of propertiesOf(entry.data)) {
          expect(field).to.match(/^[a-z]\w*Id$/);
          expect(schema, field).to.equal(Id);
        }
      });

      it('has a key that BullMQ takes: no colon, not all digits, one for each subject', () => {
        const [one, other] = [keyOf(entry, '1000000000000000001'), keyOf(entry, '1000000000000000002')];
        for (const key of [one, other]) {
          expect(key).not.to.contain(':');
          expect(key).to.match(/^[a-z]+-\d+/);
        }
        expect(one).not.to.equal(other);
      });
    });

  it('no two kinds share a key', () => {
    const keys = entries.map(([, entry]) => keyOf(entry, '1000000000000000001'));
    expect(new Set(keys).size).to.equal(keys.length);
  });

  it('each queue has jobs, says what it is for, and frees a dead worker’s job within 10 s', () => {
    expect(Object.keys(queues)).to.have.members([...new Set(entries.map(([, entry]) => entry.queue))]);
    for (const [name, { about, concurrency, lockMs, stalledCheckMs }] of Object.entries(queues)) {
      expect(about, name).to.match(/^[A-Z].+\.$/);
      expect(concurrency, name).to.be.greaterThan(0);
      expect(lockMs + stalledCheckMs, name).to.be.within(1_000, 10_000);
    }
  });
});

describe('events', () => {
  for (const [name, event] of Object.entries(events))
    it(`${name} has a payload, and a place of which its audience is a part`, () => {
      expect(name).to.match(/^[A-Z]+_[A-Z]+$/);
      const audiences = {
        server: ['channel', 'members', 'server'],
        channel: ['channel'],
        account: ['account', 'session'],
        none: ['known'],
      };
      expect(audiences[event.place ?? 'none']).to.include(event.audience);
      expect((event.data as TObject).properties).to.be.an('object');
      expect(event.optIn).to.be.a('boolean');
    });

  it('every bot gets MESSAGE_CREATE and INTERACTION_CREATE, and other events if it asks for them', () => {
    expect(botEvents).to.deep.equal(['MESSAGE_CREATE', 'INTERACTION_CREATE']);
    for (const name of botEvents) expect(optInEvents).not.to.include(name);
  });
});

describe('collections', () => {
  const database = readFileSync('lib/store/mongo/database.ts', 'utf8');
  const files = readdirSync('lib/store/mongo/models').map((file) => readFileSync(`lib/store/mongo/models/${file}`, 'utf8'));
  const schemas = files.flatMap((text) => [...text.matchAll(/^export const (\w+Schema) = new Schema/gm)].map(([, name]) => name));

  it('each schema of lib/store/mongo/models is a collection of the database, and each collection has one', () => {
    const used = [...database.matchAll(/connection\.model\('\w+', (\w+)\)/g)].map(([, name]) => name);
    expect(used.length).to.be.greaterThan(10);
    expect(used).to.have.members(schemas);
  });

  it('each names its collection, and no two the same', () => {
    const names = files.flatMap((text) => [...text.matchAll(/collection: '(\w+)'/g)].map(([, name]) => name));
    expect(names).to.have.length(schemas.length);
    expect(new Set(names).size).to.equal(names.length);
  });
});
