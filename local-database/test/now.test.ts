import { type Document, deserialize, serialize } from 'bson';
import { expect } from 'chai';
import { withNow } from '../now.ts';

const now = new Date('2030-01-02T03:04:05.678Z');
const replaced = (document: Document, context: 'command' | 'statement' = 'command') =>
  deserialize(withNow(Buffer.from(serialize(document)), context, now.getTime()));

describe('withNow', () => {
  const rows: [what: string, before: Document, after: Document][] = [
    ['a pipeline', { u: [{ $set: { at: '$$NOW' } }] }, { u: [{ $set: { at: now } }] }],
    [
      'a nested expression',
      { u: [{ $set: { a: { $cond: [{ $lt: ['$x', '$$NOW'] }, '$$NOW', 1] } } }] },
      { u: [{ $set: { a: { $cond: [{ $lt: ['$x', now] }, now, 1] } } }] },
    ],
    ['$expr of a query', { q: { a: 1, $expr: { $lt: ['$x', '$$NOW'] } } }, { q: { a: 1, $expr: { $lt: ['$x', now] } } }],
    [
      '$expr in $or',
      { q: { $or: [{ a: 1 }, { $expr: { $gt: ['$x', '$$NOW'] } }] } },
      { q: { $or: [{ a: 1 }, { $expr: { $gt: ['$x', now] } }] } },
    ],
    [
      'findAndModify',
      { query: { $expr: { $gt: ['$$NOW', 1] } }, update: [{ $set: { a: '$$NOW' } }] },
      { query: { $expr: { $gt: [now, 1] } }, update: [{ $set: { a: now } }] },
    ],
    ['a find', { filter: { $expr: { $gt: ['$$NOW', '$a'] } } }, { filter: { $expr: { $gt: [now, '$a'] } } }],
    [
      'an aggregate',
      { pipeline: [{ $match: { a: '$$NOW' } }, { $project: { b: '$$NOW' } }] },
      { pipeline: [{ $match: { a: '$$NOW' } }, { $project: { b: now } }] },
    ],
    [
      'the updates of a command',
      {
        updates: [
          { q: {}, u: [{ $set: { a: '$$NOW' } }] },
          { q: {}, u: { $set: { a: '$$NOW' } } },
        ],
      },
      {
        updates: [
          { q: {}, u: [{ $set: { a: now } }] },
          { q: {}, u: { $set: { a: '$$NOW' } } },
        ],
      },
    ],
  ];
  for (const [what, before, after] of rows) it(`replaces $$NOW in ${what}`, () => expect(replaced(before)).to.deep.equal(after));

  const untouched: [what: string, document: Document][] = [
    ['an update without a pipeline', { u: { $set: { text: '$$NOW', u: ['$$NOW'], list: [{ $expr: '$$NOW' }] } } }],
    ['a query value', { q: { text: '$$NOW', $and: [{ a: { $in: ['$$NOW'] } }] } }],
    ['a $literal', { u: [{ $set: { text: { $literal: '$$NOW' }, more: { $literal: { deep: ['$$NOW'] } } } }] }],
    ['other text', { u: [{ $set: { a: '$$NOWHERE', b: { $concat: ['at $$NOW'] } } }] }],
    ['documents to insert', { documents: [{ u: ['$$NOW'], text: '$$NOW' }] }],
  ];
  for (const [what, document] of untouched) it(`keeps the text $$NOW in ${what}`, () => expect(replaced(document)).to.deep.equal(document));

  it('does not change values of other types', () => {
    const before = Buffer.from(serialize({ u: [{ $set: { at: '$$NOW', n: 1.5, r: /x/i, b: new Uint8Array([1, 2]), d: new Date(5) } }] }));
    const after = deserialize(withNow(before, 'statement', now.getTime()), { promoteValues: false, bsonRegExp: true });
    const { at, ...rest } = after.u[0].$set as Document;
    expect(at).to.deep.equal(now);
    expect(rest).to.deep.equal(
      (() => {
        const { at: _, ...other } = deserialize(before, { promoteValues: false, bsonRegExp: true }).u[0].$set as Document;
        return other;
      })(),
    );
  });

  it('handles concatenated statements', () => {
    const one = Buffer.from(serialize({ q: {}, u: [{ $set: { a: '$$NOW' } }] }));
    const both = withNow(Buffer.concat([one, one]), 'statement', now.getTime());
    expect(both.length).to.equal(2 * (one.length - 2));
    expect(deserialize(both.subarray(both.length / 2))).to.deep.equal({ q: {}, u: [{ $set: { a: now } }] });
  });
});
