import { expect } from 'chai';
import fc from 'fast-check';
import type { CommandOption, InvokeInput, OptionType } from '../../lib/contract/command.ts';
import { parseOptions } from '../../lib/domain/interactions/option-parsing.ts';

const types: readonly OptionType[] = ['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel'];
const option = (name: string, type: OptionType, required = false): CommandOption => ({ name, description: 'x', type, required });

const name = fc.oneof(
  fc.stringMatching(/^[a-z0-9_-]{1,32}$/),
  fc.constantFrom('a', 'b', 'ab', 'https', '__proto__', 'constructor', 'tostring', '-', '0'),
);
/** The options of a command, of any types. */
const options = fc
  .uniqueArray(fc.tuple(name, fc.constantFrom(...types), fc.boolean()), { minLength: 1, maxLength: 25, selector: ([one]) => one })
  .map((list) => list.map(([one, type, required]) => option(one, type, required)));

/** Text that contains many parts that look like options. */
const tricky = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom(' ', '\n', '\u00a0', ':', 'a:', ' b: ', 'a : ', '"', '\\', '<@', '$', '\ud83d', '😀'),
      name.map((one) => ` ${one}: `),
      name.map((one) => `:${one}:`),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

/** `text` as one possible value: trimmed, well-formed, and without a position where an option could begin. */
const asValue = (text: string): string =>
  text
    .replace(/(?<!\S)(?=[a-z0-9_-]{1,32}:)/g, '.')
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .trim();

const id = fc.stringMatching(/^[0-9]{19}$/);
/** Text typed for a value of a type, and the value that the bot receives. */
const typedValues: Record<OptionType, fc.Arbitrary<{ typed: string; value: unknown }>> = {
  string: tricky.map((text) => asValue(text) || 'x').map((text) => ({ typed: text, value: text })),
  integer: fc.maxSafeInteger().map((value) => ({ typed: String(value), value })),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({ typed: String(value), value: value + 0 })),
  boolean: fc
    .tuple(fc.constantFrom(['true', true], ['yes', true], ['on', true], ['false', false], ['no', false], ['off', false]), fc.boolean())
    .map(([[word, value], isUppercase]) => ({ typed: isUppercase ? word.toUpperCase() : word, value })),
  user: id.map((value) => ({ typed: `<@${value}>`, value })),
  role: id.map((value) => ({ typed: `<@&${value}>`, value })),
  channel: id.map((value) => ({ typed: value, value })),
};
/** The options of a command, values for some of them in any order, and whitespace between them. */
const invocation = options.chain((known) =>
  fc.record({
    known: fc.constant(known),
    parts: fc
      .shuffledSubarray(known)
      .chain((some) => fc.tuple(...some.map((one) => fc.record({ one: fc.constant(one), given: typedValues[one.type] })))),
    spaces: fc.array(fc.constantFrom('', ' ', '  ', '\n', '\t\u2003'), { minLength: 25, maxLength: 25 }),
  }),
);

describe('option parser: properties', () => {
  it('reads values of all types, written as `name: value` in any order, and returns them in the order of the command', () => {
    fc.assert(
      fc.property(invocation, ({ known, parts, spaces }) => {
        const text = parts.map(({ one, given }, at) => `${spaces[at]} ${one.name}:${spaces[24 - at]}${given.typed}`).join('');
        const { values, errors } = parseOptions(known, { text });
        const byName = new Map(parts.map(({ one, given }) => [one.name, given.value]));
        expect(values).to.deep.equal(
          known.filter((one) => byName.has(one.name)).map((one) => ({ name: one.name, type: one.type, value: byName.get(one.name) })),
        );
        expect(errors.map(({ path }) => path)).to.deep.equal(
          known.filter((one) => one.required && !byName.has(one.name)).map((one) => one.name),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('reads the value of a single option with or without its name', () => {
    const one = fc
      .tuple(name, fc.constantFrom(...types))
      .chain(([called, type]) => fc.record({ option: fc.constant(option(called, type, true)), given: typedValues[type] }));
    fc.assert(
      fc.property(one, ({ option: only, given }) => {
        for (const text of [given.typed, ` ${given.typed}\n`, `${only.name}: ${given.typed}`])
          expect(parseOptions([only], { text })).to.deep.equal({
            values: [{ name: only.name, type: only.type, value: given.value }],
            errors: [],
          });
      }),
      { numRuns: 300 },
    );
  });

  it('any input: throws no error, and returns a value or an error for every required option, and each option once', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 }).map((codes) => String.fromCharCode(...codes));
    const value = fc.oneof(fc.string({ unit: 'binary' }), units, fc.double(), fc.integer(), fc.boolean(), id);
    const input: fc.Arbitrary<InvokeInput> = fc.oneof(
      fc.oneof(tricky, units).map((text) => ({ text })),
      fc
        .array(fc.record({ name: fc.oneof(fc.constantFrom('a', 'b', 'ab'), name, units), value }), { maxLength: 25 })
        .map((list) => ({ options: list })),
      fc.constant({}),
    );
    fc.assert(
      fc.property(options, input, (known, given) => {
        const { values, errors } = parseOptions(known, given);
        const paths = errors.map(({ path }) => path);
        expect(new Set(paths).size).to.equal(paths.length);
        expect(values.filter((one) => paths.includes(one.name))).to.deep.equal([]);
        expect(errors.every(({ message }) => message !== '')).to.equal(true);
        const named = values.map((one) => one.name);
        expect(named).to.deep.equal(known.map((one) => one.name).filter((one) => named.includes(one)));
        for (const one of values) expect(one.type).to.equal(known.find((other) => other.name === one.name)?.type);
        for (const one of known) if (one.required) expect([...named, ...paths]).to.include(one.name);
      }),
      { numRuns: 300 },
    );
  });

  it('reads 60,000 hostile characters in linear time, with at most one error per name', () => {
    const known = Array.from({ length: 25 }, (_, at) => option(`o${at}`, types[at % 7] as OptionType));
    const fillTo = (part: string): string => part.repeat(60_000).slice(0, 60_000);
    const hard = 'o1: |o0:|o1| o1|o1:\n| |\u00a0|1|a |x: |:|: |😀|-'.split('|').concat('a'.repeat(32), `${'a'.repeat(32)}: `);
    for (const part of hard)
      for (const text of [fillTo(part), `o1: ${fillTo(part)}`, `o2: ${fillTo(part)}x`, `o3:${fillTo(part)}!`, `o4: ${fillTo(part)}>`])
        for (const list of [known, known.slice(1, 2)]) expect(parseOptions(list, { text }).errors.length).to.be.at.most(26);
  });
});
