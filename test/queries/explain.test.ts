import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { groupBy } from '../../lib/base/group-by.ts';
import { use } from '../harness/use.ts';
import { type CataloguedQuery, catalogue, mergeQueries, type RecordedQuery, writeCatalogue } from './catalogue.ts';
import { type Explained, explain } from './explain.ts';
import { openInstallation } from './installation.ts';
import { instantiate } from './instantiate.ts';
import { findBrokenRules, indexesOf } from './rules.ts';
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
      const lines = readFileSync(recordFile, 'utf8').split('\n').filter(Boolean);
      const recorded = lines.map((line) => JSON.parse(line) as RecordedQuery);
      const queries = mergeQueries(process.env.QUERIES_ADD ? catalogue : [], recorded);
      for (const query of queries) query.index = (await run(query)).index;
      writeCatalogue(queries);
      writeTables(queries);
    });

  for (const [collection, queries] of recordFile ? [] : groupBy(catalogue, (query) => query.collection))
    it(`of ${collection} use an index, read few documents more than they return, and have a bound`, async () => {
      const broken: string[] = [];
      for (const query of queries) {
        const explained = await run(query);
        broken.push(...findBrokenRules(query, explained));
        // MongoDB may choose another one of two equal indexes.
        const isSame = explained.index === query.index || !installation.isLocalStore;
        if (!isSame) broken.push(`${JSON.stringify(query.filter)} uses ${explained.index}, and not ${query.index} as in the catalogue`);
      }
      expect(broken, 'run npm run queries after a change of queries or indexes').to.deep.equal([]);
    });

  if (!recordFile)
    it('name in a hint only indexes that exist', () => {
      const unknown = catalogue.filter(({ collection, hint }) => hint && !indexesOf(collection).some(({ name }) => name === hint));
      expect(unknown).to.deep.equal([]);
    });
});
