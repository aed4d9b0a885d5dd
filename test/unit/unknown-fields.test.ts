import { expect } from 'chai';
import { type TSchema, Type } from 'typebox';
import { listUnknownFields, listUnknownParameters } from '../../lib/contract/unknown-fields.ts';

const Cat = Type.Object({ kind: Type.Literal('cat'), lives: Type.Optional(Type.Integer()) });
const Dog = Type.Object({ kind: Type.Literal('dog'), tricks: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))) });
const Owner = Type.Object({ name: Type.String(), pet: Type.Union([Cat, Dog, Type.Null()]) });
const NamedCat = Type.Intersect([Cat, Type.Object({ name: Type.String() })]);
const trickster = { kind: 'dog', tricks: [{ name: 'sit' }, { name: 'roll', level: 2 }] };

describe('unknown fields', () => {
  for (const [what, schema, value, expected] of [
    ['a field of the body', Owner, { name: 'a', pet: null, age: 1 }, ['/age']],
    ['a field of an alternative', Owner, { name: 'a', pet: trickster }, ['/pet/tricks/1/level']],
    ['a field that only another alternative has', Owner, { name: 'a', pet: { kind: 'cat', tricks: [] } }, ['/pet/tricks']],
    ['no field of any alternative, if none matches', Owner, { pet: { kind: 'cow', tricks: [], lives: 2, milk: 1 } }, ['/pet/milk']],
    ['a field beside invalid ones', Owner, { name: 7, pet: 'cat', age: 1 }, ['/age']],
    ['nothing below an unknown field', Owner, { name: 'a', pet: null, more: { a: 1, b: { c: 2 } } }, ['/more']],
    ['a field that no part of an intersection has', NamedCat, { kind: 'cat', name: 'a', x: 1 }, ['/x']],
    ['a field in a list', Type.Array(Cat), [{ kind: 'cat' }, { kind: 'cat', life: 9 }], ['/1/life']],
    ['every field of an object without fields', Type.Object({}), { a: 1 }, ['/a']],
    ['no field of an open object', Type.Record(Type.String(), Type.Integer()), { a: 1, b: 2 }, []],
    ['no field of any value', Type.Unknown(), { a: { b: 1 } }, []],
    ['names of the prototype', Cat, { kind: 'cat', constructor: 1, toString: 2 }, ['/constructor', '/toString']],
    ['names with the separators of a pointer', Cat, { 'a/b~c': 1 }, ['/a~1b~0c']],
  ] as const satisfies readonly (readonly [string, TSchema, unknown, readonly string[]])[])
    it(`lists ${what}`, () => {
      expect(listUnknownFields(schema, value)).to.deep.equal({ listed: expected, count: expected.length });
    });

  it('reads no more items of a list than it may have', () => {
    const read: number[] = [];
    const items = Array.from({ length: 9 }, (_, at) => ({
      get more() {
        return read.push(at);
      },
    }));
    const { count } = listUnknownFields(Type.Array(Type.Object({ more: Type.Optional(Type.Object({})) }), { maxItems: 3 }), items);
    expect([count, read]).to.deep.equal([0, [0, 1, 2]]);
  });

  it('lists the first 10 names of many, and counts all', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, at]));
    const { listed, count } = listUnknownFields(Cat, many);
    expect(listed).to.deep.equal(Array.from({ length: 10 }, (_, at) => `/f${at}`));
    expect(count).to.equal(5000);
  });

  it('lists at most 600 bytes of long names, and counts all', () => {
    const long = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`${at}${'🏳'.repeat(60)}`, at]));
    const { listed, count } = listUnknownFields(Cat, long);
    expect(listed).to.have.length(1);
    expect(count).to.equal(8);
  });

  for (const name of ['x\r\nSet-Cookie: a=b', 'a; b, c', 'ключ', '\ud800', '\0\x7f', '🏳️‍🌈'.repeat(100_000), '%0d%0a'])
    it(`lists the name ${JSON.stringify(name.slice(0, 20))} as short text without separators or control characters`, () => {
      for (const listed of [listUnknownFields(Cat, { [name]: 1 }).listed, listUnknownParameters(Cat, { [name]: '1' }).listed]) {
        expect(listed[0]).to.match(/^\/?[A-Za-z0-9_.~!*'()%-]+$/);
        expect(listed[0]?.length).to.be.lessThan(500);
      }
    });

  it('decodes to the name that was sent', () => {
    const [listed = ''] = listUnknownFields(Cat, { 'titel; ä': 1 }).listed;
    expect(decodeURIComponent(listed)).to.equal('/titel; ä');
  });

  it('lists parameters of a query, also without a schema', () => {
    expect(listUnknownParameters(Cat, { kind: 'cat', lives: '1', limitt: '2' }).listed).to.deep.equal(['limitt']);
    expect(listUnknownParameters(undefined, { wait: 'true' }).listed).to.deep.equal(['wait']);
  });
});
