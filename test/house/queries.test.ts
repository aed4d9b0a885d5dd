import { expect } from 'chai';
import { schemas } from '../../lib/store/mongo/database.ts';
import { catalogue, mergeQueries } from '../queries/catalogue.ts';
import { withoutShardKey } from '../queries/notes.ts';
import { equalFields, indexesOf, shardKeyOf } from '../queries/rules.ts';
import { describeShape } from '../queries/shape.ts';
import { readPart, renderParts } from '../queries/tables.ts';

const collections = Object.values(schemas).map((schema) => schema.get('collection') as string);

describe('shard keys', () => {
  it('are hashed fields, one for each sharded collection', () => {
    for (const schema of Object.values(schemas)) {
      const key = schema.get('shardKey') ?? {};
      if (Object.keys(key).length > 0) expect(Object.values(key), schema.get('collection')).to.deep.equal(['hashed']);
    }
  });

  it('begin every unique index, except those of `_id`', () => {
    const violations = collections.flatMap((collection) => {
      const key = shardKeyOf(collection);
      const unique = indexesOf(collection).filter(({ isUnique }) => isUnique);
      return key === undefined
        ? []
        : unique.filter(({ fields: [first] }) => first !== key && first !== '_id').map(({ name }) => `${collection} ${name}`);
    });
    expect(violations).to.deep.equal([]);
  });

  it('are in the filter of every hot query', () => {
    const violations = catalogue.filter((query) => {
      const key = shardKeyOf(query.collection);
      const isExcepted = Object.values(withoutShardKey).flat().includes(describeShape(query));
      return query.cold === undefined && key !== undefined && !equalFields(query).includes(key) && !isExcepted;
    });
    expect(violations.map((query) => `${describeShape(query)} by ${query.callers.join(', ')}`)).to.deep.equal([]);
  });
});

describe('docs/scaling.md', () => {
  it('the catalogue marks as cold what test/queries/notes.ts says', () => {
    expect(mergeQueries(catalogue, [])).to.deep.equal(catalogue);
  });

  for (const [name, part] of Object.entries(renderParts(catalogue)))
    it(`has the ${name} of this version (npm run queries writes them)`, () => expect(readPart(name)).to.equal(part));
});
