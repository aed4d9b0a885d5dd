import { expect } from 'chai';
import { groupBy } from '../../lib/base/group-by.ts';
import { use } from '../harness/use.ts';
import { type CataloguedQuery, catalogue, mergeQueries, readRecorded, writeCatalogue } from './catalogue.ts';
import { type Explained, explain } from './explain.ts';
import { openInstallation } from './installation.ts';
import { instantiate } from './instantiate.ts';
import { exceptions } from './notes.ts';
import { findBrokenRules, indexesOf } from './rules.ts';
import { describeShape } from './shape.ts';
import { writeTables } from './tables.ts';

/** The file of recorded queries that the catalogue is made from; absent when the catalogue is only checked. */
const recordFile = process.env.QUERIES_UPDATE;

describe('queries', () => {
  const installation = use(openInstallation);

  const run = async (query: CataloguedQuery): Promise<Explained> => {
    const population = installation.population.get(query.collection) ?? [];
    return await explain(installation.database, query, instantiate(query, population));
  };

  if (recordFile)
    it('are written to the catalogue, with the index that each uses', async () => {
      const queries = mergeQueries(process.env.QUERIES_ADD ? catalogue : [], readRecorded(recordFile));
      for (const query of queries) query.index = (await run(query)).index;
      writeCatalogue(queries);
      writeTables(queries);
    });

  /** What the queries break, by their rules and descriptions. */
  const broken = new Map<string, string>();

  for (const [collection, queries] of recordFile ? [] : groupBy(catalogue, (query) => query.collection))
    it(`of ${collection} use an index, read two documents at most for each that they return, and have a bound`, async () => {
      const unexpected: string[] = [];
      for (const query of queries) {
        const explained = await run(query);
        const text = describeShape(query);
        for (const [rule, what] of findBrokenRules(query, explained)) {
          broken.set(`${rule} ${text}`, what);
          if (!exceptions.some((one) => one.rule === rule && one.queries.includes(text))) unexpected.push(`${text} ${what} (${rule})`);
        }
        // MongoDB may choose another one of two equal indexes.
        const isSame = explained.index === query.index || !installation.isLocalStore;
        if (!isSame) unexpected.push(`${text} uses ${explained.index}, and not ${query.index} as in the catalogue`);
      }
      expect(unexpected, 'run npm run queries after a change of queries or indexes').to.deep.equal([]);
    });

  if (!recordFile)
    it('break the rules that they are excepted from', function () {
      if (!installation.isLocalStore) this.skip();
      const listed = exceptions.flatMap(({ rule, queries }) => queries.map((one) => `${rule} ${one}`));
      expect(listed.filter((one) => !broken.has(one))).to.deep.equal([]);
    });

  if (!recordFile)
    it('name in a hint only indexes that exist', () => {
      const unknown = catalogue.filter(({ collection, hint }) => hint && !indexesOf(collection).some(({ name }) => name === hint));
      expect(unknown).to.deep.equal([]);
    });
});
