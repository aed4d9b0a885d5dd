import { expect } from 'chai';
import { countCodePoints } from '../../lib/base/text.ts';
import type { CommandOption, InvokeInput, OptionType } from '../../lib/contract/command.ts';
import { parseOptions } from '../../lib/domain/interactions/option-parsing.ts';

const option = (name: string, type: OptionType = 'string', required = false): CommandOption => ({
  name,
  description: 'x',
  type,
  required,
});
const id = '1234567890123456789';
const two = [option('reason'), option('url')];

/** The values by name, or the paths of the errors. */
const read = (options: CommandOption[], input: InvokeInput): Record<string, unknown> | string[] => {
  const { values, errors } = parseOptions(options, input);
  return errors.length ? errors.map((error) => error.path) : Object.fromEntries(values.map(({ name, value }) => [name, value]));
};

describe('option parser: text', () => {
  /** Besides what option-properties.test.ts reads: values of all types by name, in any order. */
  const rows: [what: string, options: CommandOption[], text: string, result: Record<string, unknown> | string[]][] = [
    ['an empty text', two, '', {}],
    ['only whitespace', two, ' \n ', {}],
    ['an unknown name within a value', two, 'reason: see link: x', { reason: 'see link: x' }],
    ['a known name within the text', two, 'reason: see url: x', { reason: 'see', url: 'x' }],
    ['a known name within a word', two, 'reason: my-url: x', { reason: 'my-url: x' }],
    ['a link whose scheme is an option name', [...two, option('https')], 'reason: at https://x.test', { reason: 'at', https: '//x.test' }],
    ['a value with a line break', two, 'reason: a\nb url: x', { reason: 'a\nb', url: 'x' }],
    ['a name in another case', two, 'reason: a URL: x', { reason: 'a URL: x' }],
    ['an option twice', two, 'reason: a reason: b', ['reason']],
    ['an unknown name first', two, 'other: a', ['other']],
    ['an unknown name before a known one', two, 'other: a url: x', ['other']],
    ['text without a name for two options', two, 'because', ['/text']],
    ['text before a name', two, 'because url: x', ['/text']],
    ['text for a command without options', [], 'because', ['/text']],
    ['an empty value', two, 'reason:', ['reason']],
    ['an empty value before another', two, 'reason: url: x', ['reason']],
    ['text without a name for one option', [option('reason')], 'because of: this', { reason: 'because of: this' }],
    ['text that contains the name of the one option', [option('reason')], 'the reason: x', { reason: 'the reason: x' }],
    ['the one option twice', [option('reason')], 'reason: a reason: b', ['reason']],
    ['the name of the one option with a space before the colon', [option('reason')], 'reason : x', { reason: 'reason : x' }],
    ['a longer word that begins with the name of the one option', [option('reason')], 'reasons: x', { reason: 'reasons: x' }],
    ['an unknown name for the one option', [option('reason')], 'other: x', { reason: 'other: x' }],
    ['the name of the one option directly after other text', [option('reason')], 'x:reason: y', { reason: 'x:reason: y' }],
    ['only whitespace for the one option', [option('reason')], ' ', {}],
    ['only the name of the one option', [option('reason')], 'reason:', ['reason']],
    ['a value with colons', two, 'reason: a:b:url:c', { reason: 'a:b:url:c' }],
    ['a name directly after another', two, 'reason:url:x', { reason: 'url:x' }],
    ['names at the start of lines', two, 'url:\nx\nreason:\ny', { url: 'x', reason: 'y' }],
    ['a name within quotes', two, 'reason: "a url: b"', { reason: '"a', url: 'b"' }],
    ['Unicode whitespace before a name', two, 'reason: a\u00a0url: b\u2028', { reason: 'a', url: 'b' }],
    ['a name with a space before the colon', two, 'reason: a url : b', { reason: 'a url : b' }],
    ['half a surrogate pair', two, 'reason: \ud83d', { reason: '\ufffd' }],
    ['options named like object properties', [option('constructor'), option('__proto__')], 'constructor: a', { constructor: 'a' }],
  ];
  for (const [what, options, text, result] of rows)
    it(`${Array.isArray(result) ? 'refuses' : 'reads'} ${what}`, () => expect(read(options, { text })).to.deep.equal(result));

  it('reads no options without text and options', () => expect(read(two, {})).to.deep.equal({}));
  it('returns values in the order of the command', () =>
    expect(parseOptions(two, { text: 'url: x reason: y' }).values.map(({ name }) => name)).to.deep.equal(['reason', 'url']));
});

describe('option parser: types', () => {
  const good: [OptionType, string, unknown][] = [
    ['string', '$answer', '$answer'],
    ['string', '😀'.repeat(2000), '😀'.repeat(2000)],
    ['integer', '0', 0],
    ['integer', '-0', 0],
    ['integer', '+7', 7],
    ['integer', '007', 7],
    ['integer', '9007199254740991', 9007199254740991],
    ['number', '+1.', 1],
    ['number', '-.5', -0.5],
    ['boolean', 'Yes', true],
    ['boolean', 'nO', false],
  ];
  const refused: Record<OptionType, string[]> = {
    string: ['😀'.repeat(2001)],
    integer: ['9007199254740992', '9007199254740993', '1.5', '1.0', '1e3', '0x10', '1 2', '１'],
    number: ['NaN', 'Infinity', '1e999', '1,5', '.'],
    boolean: ['1', 'y'],
    user: [id, `<@&${id}>`, '<@1>', `<@${id}> x`],
    role: [`<@${id}>`],
    channel: ['12', `<#${id}>`],
  };
  const expectRead = (type: OptionType, text: string, expected: Record<string, unknown> | string[]): void => {
    expect(read([option('it', type)], { text: `it: ${text}` })).to.deep.equal(expected);
    expect(read([option('it', type)], { text })).to.deep.equal(expected);
  };
  const brief = (text: string): string => (text.length > 30 ? `${countCodePoints(text)} characters` : text);
  for (const [type, text, value] of good) it(`${type}: ${brief(text)} is read`, () => expectRead(type, text, { it: value }));
  for (const [type, texts] of Object.entries(refused) as [OptionType, string[]][])
    for (const text of texts) it(`${type}: ${brief(text)} is refused`, () => expectRead(type, text, ['it']));
});

describe('option parser: structured options', () => {
  const send = (type: OptionType, value: string | number | boolean) => read([option('it', type)], { options: [{ name: 'it', value }] });
  const good: [OptionType, string | number | boolean, unknown][] = [
    ['string', ' a ', ' a '],
    ['integer', 5, 5],
    ['integer', -0, 0],
    ['number', -0, 0],
    ['number', 1.5, 1.5],
    ['boolean', true, true],
    ['boolean', false, false],
    ['boolean', 'Off', false],
    ['user', id, id],
    ['user', `<@${id}>`, id],
    ['role', `<@&${id}>`, id],
    ['channel', id, id],
  ];
  for (const [type, value, result] of good) it(`${type} accepts ${value}`, () => expect(send(type, value)).to.deep.equal({ it: result }));
  const refused: Partial<Record<OptionType, (string | number | boolean)[]>> = {
    string: [5, ''],
    integer: ['5', 1.5, 2 ** 53],
    number: ['1.5', Number.POSITIVE_INFINITY, Number.NaN],
    boolean: [1],
    user: [5, `<@&${id}>`],
    channel: [true],
  };
  for (const [type, values] of Object.entries(refused) as [OptionType, (string | number | boolean)[]][])
    for (const value of values) it(`${type} refuses ${JSON.stringify(value)}`, () => expect(send(type, value)).to.deep.equal(['it']));

  it('names duplicate, unknown and missing options', () => {
    const options = [option('need', 'string', true), option('a')];
    const given = ['a', 'a', 'b'].map((name) => ({ name, value: 'x' }));
    expect(read(options, { options: given })).to.deep.equal(['a', 'b', 'need']);
  });
  it('reads no options from an empty list', () => expect(read(two, { options: [] })).to.deep.equal({}));
});
