import { expect } from 'chai';
import fc from 'fast-check';
import { Gauge, Registry } from 'prom-client';
import { parseExposition } from '../../apps/ops/measures/exposition.ts';

const parse = (text: string) =>
  parseExposition(text, new Set(['a', 'b_bucket'])).map(({ name, labels, value }) => [name, { ...labels }, value]);

const a = (value: number): unknown[] => ['a', {}, value];

describe('parseExposition', () => {
  for (const [what, text, found] of [
    ['a value', 'a 1', [a(1)]],
    ['labels', 'a{x="1",y="two"} 2.5e3\n', [['a', { x: '1', y: 'two' }, 2500]]],
    ['a trailing comma', 'a{x="1",} 2', [['a', { x: '1' }, 2]]],
    ['empty braces', 'a{} 2', [a(2)]],
    ['escapes', String.raw`a{x="\"\\\n}{,"} 1`, [['a', { x: '"\\\n}{,' }, 1]]],
    ['infinity as a bound', 'b_bucket{le="+Inf"} 7', [['b_bucket', { le: '+Inf' }, 7]]],
    ['infinity as a value', 'a -Inf\na +Inf', [a(-Infinity), a(Infinity)]],
    ['a timestamp after the value', 'a 3 1700000000000', [a(3)]],
    ['Windows line ends', 'a 1\r\na 2\r\n', [a(1), a(2)]],
    ['no sample from comments and other names', '# HELP a 1\n# TYPE a gauge\nab 1\n a 2\n', []],
    ['no sample from lines without a number', 'a NaN\na\na{x="1"}\na one', []],
    ['no sample from invalid labels', 'a{x=1} 1\na{x="1 1\na{="1"} 1\na{x="1" y="2"} 1', []],
    ['a label named __proto__', 'a{__proto__="x"} 1', [['a', JSON.parse('{"__proto__":"x"}'), 1]]],
    ['no sample from an empty text', '', []],
  ] as [string, string, unknown[]][])
    it(`parses ${what}`, () => expect(JSON.stringify(parse(text))).to.equal(JSON.stringify(found)));

  it('accepts at most 16 labels and 200,000 samples', () => {
    const labels = (count: number): string => Array.from({ length: count }, (_, at) => `l${at}="x"`).join(',');
    expect(parse(`a{${labels(16)}} 1`)).to.have.length(1);
    expect(parse(`a{${labels(17)}} 1`)).to.have.length(0);
    expect(parse('a 1\n'.repeat(200_001))).to.have.length(200_000);
  });

  it('parses every label and value that prom-client writes', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.double({ noNaN: true }), async (text, value) => {
        const registry = new Registry();
        new Gauge({ name: 'a', help: 'x', labelNames: ['x'], registers: [registry] }).set({ x: text }, value);
        const [sample] = parseExposition(await registry.metrics(), new Set(['a']));
        expect(sample?.labels.x).to.equal(text);
        expect(sample?.value).to.equal(value === 0 ? 0 : value);
      }),
      { numRuns: 50 },
    ));

  it('never throws, whatever the text is', () =>
    fc.assert(
      fc.property(fc.string(), (text) => void [parse(text), parse(`a{${text}} 1`)]),
      { numRuns: 200 },
    ));
});
