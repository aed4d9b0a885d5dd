import { BSON, serialize } from 'bson';
import { expect } from 'chai';
import fc from 'fast-check';
import { MalformedBson, numberField, scanFields, splitDocuments, stringField, withoutFields } from '../bson-scan.ts';
import { FrameReader } from '../frames.ts';

const everyType = {
  double: 1.5,
  string: 'grüße',
  document: { a: [1] },
  array: [{}, 'x'],
  binary: new BSON.Binary(Buffer.from([1, 2])),
  id: new BSON.ObjectId(),
  bool: true,
  date: new Date(),
  nothing: null,
  pattern: /a\/b/gi,
  code: new BSON.Code('x'),
  scoped: new BSON.Code('x', { y: 1 }),
  int: 7,
  stamp: new BSON.Timestamp(1n),
  long: BSON.Long.fromNumber(9),
  decimal: BSON.Decimal128.fromString('1.5'),
  least: new BSON.MinKey(),
  most: new BSON.MaxKey(),
  symbol: new BSON.BSONSymbol('s'),
};

describe('BSON without decoding', () => {
  it('scanFields finds fields of every type', () => {
    const bytes = Buffer.from(serialize(everyType));
    const fields = scanFields(bytes);
    expect([...fields.keys()]).to.deep.equal(Object.keys(everyType));
    expect(stringField(bytes, fields.get('string'))).to.equal('grüße');
    for (const [name, value] of [
      ['double', 1.5],
      ['bool', 1],
      ['int', 7],
      ['long', 9],
    ] as const)
      expect(numberField(bytes, fields.get(name))).to.equal(value);
    expect(stringField(bytes, fields.get('int'))).to.equal(undefined);
  });

  it('withoutFields removes fields', () => {
    const bytes = Buffer.from(serialize({ a: 1, lsid: { id: 1 }, b: 'x', $clusterTime: {}, c: [1] }));
    const left = withoutFields(bytes, scanFields(bytes), new Set(['lsid', '$clusterTime', 'absent']));
    expect(BSON.deserialize(left)).to.deep.equal({ a: 1, b: 'x', c: [1] });
    expect(left.length).to.equal(left.readInt32LE(0));
  });

  it('throws MalformedBson for invalid bytes and never reads beyond them', () => {
    const good = Buffer.from(serialize(everyType));
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(good.length), (at, byte, cut) => {
        const bad = Buffer.from(good.subarray(0, good.length - cut));
        if (at < bad.length) bad[at] = byte;
        for (const read of [() => scanFields(bad), () => splitDocuments(bad)])
          try {
            read();
          } catch (error) {
            expect(error).to.be.instanceOf(MalformedBson);
          }
      }),
      { numRuns: 2000 },
    );
  });

  it('FrameReader splits a stream into frames, whatever its chunks are', () => {
    const frames = [5, 4, 100, 4, 1000].map((size, index) => {
      const frame = Buffer.alloc(size, index);
      frame.writeInt32LE(size);
      return frame;
    });
    const stream = Buffer.concat(frames);
    for (const step of [1, 2, 3, 7, 104, 5000]) {
      const reader = new FrameReader(4, (chunk, at) => chunk.readInt32LE(at));
      const seen: Buffer[] = [];
      for (let at = 0; at < stream.length; at += step)
        reader.push(Buffer.from(stream.subarray(at, at + step)), (frame) => seen.push(Buffer.from(frame)));
      expect(Buffer.concat(seen).equals(stream), `in steps of ${step}`).to.equal(true);
      expect(seen.map(({ length }) => length)).to.deep.equal(frames.map(({ length }) => length));
    }
  });
});
