import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { TObject, TSchema } from 'typebox';
import { botEvents, events, optInEvents } from '../../lib/contract/events.ts';
import { type JobDefinition, jobLock, jobs, queues } from '../../lib/contract/jobs.ts';
import { Id } from '../../lib/contract/shared.ts';
import { handlers } from '../../workers/handlers.ts';

const entries = Object.entries(jobs);
const propertiesOf = (schema: TSchema): [string, TSchema][] => Object.entries((schema as TObject).properties);
/** The data of a job with `id` in every field. */
const dataOf = (entry: JobDefinition, id: string): Record<string, string> =>
  Object.fromEntries(propertiesOf(entry.data).map(([name]) => [name, id]));
const keyOf = (entry: JobDefinition, id: string): string => (entry.key as (data: unknown) => string)(dataOf(entry, id));

describe('jobs', () => {
  it('every job has a handler', () => {
    expect(Object.keys(handlers)).to.have.members(entries.map(([name]) => name));
  });

  for (const [name, entry] of entries)
    it(`${name} has an existing queue, attempts with delays, only ids as data, and a key for each subject that BullMQ accepts`, () => {
      expect(name).to.match(/^[a-z]+(-[a-z]+)+$/);
      expect(queues).to.have.property(entry.queue);
      expect(entry.attempts).to.be.within(1, 50);
      if (entry.attempts > 1) expect(entry.backoffMs?.first).to.be.within(1, entry.backoffMs?.max ?? 0);
      for (const [field, schema] of propertiesOf(entry.data)) {
        expect(field).to.match(/^[a-z]\w*Id$/);
        expect(JSON.stringify(schema), field).to.equal(JSON.stringify(Id)); // an optional id has the same schema
      }
      const [one, other] = [keyOf(entry, '1000000000000000001'), keyOf(entry, '1000000000000000002')];
      for (const key of [one, other]) expect(key).to.match(/^[a-z]+-\d+[^:]*$/);
      expect(one).not.to.equal(other);
    });

  it('different jobs have different keys', () => {
    const keys = entries.map(([, entry]) => keyOf(entry, '1000000000000000001'));
    expect(new Set(keys).size).to.equal(keys.length);
  });

  it('every queue has jobs and a description, and releases the job of a killed worker within 10 s', () => {
    expect(Object.keys(queues)).to.have.members([...new Set(entries.map(([, entry]) => entry.queue))]);
    for (const [name, { description, concurrency }] of Object.entries(queues)) {
      expect(description, name).to.match(/^[A-Z].+\.$/);
      expect(concurrency, name).to.be.greaterThan(0);
    }
    expect(jobLock.ms + jobLock.checkMs).to.be.within(1_000, 10_000);
  });
});

describe('events', () => {
  for (const [name, event] of Object.entries(events))
    it(`${name} has a payload, and a log place that includes its audience`, () => {
      expect(name).to.match(/^[A-Z]+_[A-Z]+$/);
      const audiences = {
        server: ['channel', 'members', 'server'],
        channel: ['channel'],
        account: ['account', 'session'],
        none: ['custom'],
      };
      expect(audiences[event.place ?? 'none']).to.include(event.audience);
      expect((event.data as TObject).properties).to.be.an('object');
      expect(event.summary).to.match(/^[A-Z].+[^.]\.$/);
      expect(event.optIn).to.be.a('boolean');
    });

  it('every bot receives MESSAGE_CREATE and INTERACTION_CREATE, and other events on request', () => {
    expect(botEvents).to.deep.equal(['MESSAGE_CREATE', 'INTERACTION_CREATE']);
    for (const name of botEvents) expect(optInEvents).not.to.include(name);
  });
});

describe('collections', () => {
  const database = readFileSync('lib/store/mongo/database.ts', 'utf8');
  const files = readdirSync('lib/store/mongo/models').map((file) => readFileSync(`lib/store/mongo/models/${file}`, 'utf8'));
  const schemas = files.flatMap((text) => [...text.matchAll(/^export const (\w+Schema) = new Schema/gm)].map(([, name]) => name));

  it('every schema belongs to one collection of the database, and every collection has a schema', () => {
    const used = [...database.matchAll(/^ {2}\w+: (\w+Schema),$/gm)].map(([, name]) => name);
    expect(used.length).to.be.greaterThan(10);
    expect(used).to.have.members(schemas);
  });

  it('every schema names a different collection', () => {
    const names = files.flatMap((text) => [...text.matchAll(/collection: '(\w+)'/g)].map(([, name]) => name));
    expect(names).to.have.length(schemas.length);
    expect(new Set(names).size).to.equal(names.length);
  });
});
