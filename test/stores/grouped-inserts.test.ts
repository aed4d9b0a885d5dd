import { expect } from 'chai';
import { mongo } from 'mongoose';
import { Refusal } from '../../lib/base/errors.ts';
import { type Collection, isUnavailable } from '../../lib/store/mongo/database.ts';
import { insertGrouped } from '../../lib/store/mongo/grouped-inserts.ts';
import { startMonitoredApi } from '../harness/api.ts';
import { holdNext, interceptNext } from '../harness/intercept.ts';
import { use } from '../harness/use.ts';

describe('grouped inserts', () => {
  const api = use(startMonitoredApi);
  const notices = (): Collection<{ _id: string }> => api.platform.db.notices as never;
  const insert = (ids: readonly string[], forMs = 10_000): Promise<string[]> =>
    Promise.all(
      ids.map((_id) =>
        insertGrouped(notices(), { _id }, performance.now() + forMs).then(
          () => 'stored',
          (error: Error) => (error instanceof Refusal ? error.code : error.message.replace(/ .*/s, '')),
        ),
      ),
    );
  const count = (prefix: string): Promise<number> => notices().countDocuments({ _id: { $regex: `^${prefix}` } });
  const named = (prefix: string, length: number): string[] => Array.from({ length }, (_, n) => `${prefix}${n}`);

  it('those that come while two run are inserted by one command', async () => {
    api.commands.length = 0;
    expect(new Set(await insert(named('many', 50)))).to.deep.equal(new Set(['stored']));
    expect(api.commands).to.deep.equal(['insert', 'insert', 'insert']);
    expect(await count('many')).to.equal(50);
  });

  it('one that the database refuses gets its own error, and the others are stored', async () => {
    expect(await insert(['own1', 'own2', 'own3', 'own1', 'own4'])).to.deep.equal(['stored', 'stored', 'stored', 'E11000', 'stored']);
    expect(await count('own')).to.equal(4);
  });

  it('one that is too late is not sent, and the others are stored', async () => {
    const [others, late] = await Promise.all([insert(named('intime', 4)), insert(['intime-late'], 0)]);
    expect([...others, ...late]).to.deep.equal(['stored', 'stored', 'stored', 'stored', 'unavailable']);
    expect(await count('intime')).to.equal(4);
  });

  it('while two do not end, the others are inserted nevertheless', async () => {
    const held: Promise<string[]>[] = [];
    const goes: (() => void)[] = [];
    for (const id of ['held1', 'held2']) {
      const go = holdNext([notices()], ['insertOne']);
      held.push(insert([id]));
      goes.push(await go);
    }
    expect(await insert(named('free', 3))).to.deep.equal(['stored', 'stored', 'stored']);
    for (const go of goes) go();
    expect(await Promise.all(held)).to.deep.equal([['stored'], ['stored']]);
  });

  it('when a command fails because the database is away, later ones are inserted alone for a while', async () => {
    // As the driver throws it: a bulk error without errors of documents.
    const away = new mongo.MongoBulkWriteError(new mongo.MongoNetworkError('away'), {
      getWriteConcernError: () => undefined,
    } as never);
    expect(isUnavailable(away)).to.equal(true);
    interceptNext(notices(), 'insertMany', () => Promise.reject(away));
    expect(await insert(named('away', 5))).to.deep.equal(['stored', 'stored', 'away', 'away', 'away']);
    api.commands.length = 0;
    expect(new Set(await insert(named('alone', 9)))).to.deep.equal(new Set(['stored']));
    expect(api.commands.filter((name) => name === 'insert')).to.have.length(9);
  });

  it('one that the database does not answer is given up in time', async () => {
    const go = holdNext([notices()], ['insertOne']);
    const error = await insertGrouped(notices(), { _id: 'unanswered' }, performance.now() + 100).catch((fault: unknown) => fault);
    expect(isUnavailable(error)).to.equal(true);
    (await go)();
  });
});
