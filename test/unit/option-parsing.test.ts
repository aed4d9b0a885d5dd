import { expect } from 'chai';
import { lengthOf } from '../../lib/base/text.ts';
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

describe('option parser: how text is split', () => {
  const rows: [about: string, options: CommandOption[], text: string, result: Record<string, unknown> | string[]][] = [
    ['nothing', two, '', {}],
    ['white space only', two, ' \n ', {}],
    ['one by name', two, 'reason: because', { reason: 'because' }],
    ['any order', two, 'url: x reason: because', { reason: 'because', url: 'x' }],
    ['no space after the colon', two, 'reason:because url:x', { reason: 'because', url: 'x' }],
    ['only at known names', two, 'reason: see link: x', { reason: 'see link: x' }],
    ['at known names inside', two, 'reason: see url: x', { reason: 'see', url: 'x' }],
    ['not inside a word', two, 'reason: my-url: x', { reason: 'my-url: x' }],
    ['in a link, if a name is the same word', [...two, option('https')], 'reason: at https://x.test', { reason: 'at', https: '//x.test' }],
    ['line breaks stay in a value', two, 'reason: a\nb url: x', { reason: 'a\nb', url: 'x' }],
    ['other case is not the name', two, 'reason: a URL: x', { reason: 'a URL: x' }],
    ['twice', two, 'reason: a reason: b', ['reason']],
    ['an unknown name first', two, 'other: a', ['other']],
    ['an unknown name before a known one', two, 'other: a url: x', ['other']],
    ['bare text with two options', two, 'because', ['/text']],
    ['bare text before a name', two, 'because url: x', ['/text']],
    ['text for a command without options', [], 'because', ['/text']],
    ['an empty value', two, 'reason:', ['reason']],
    ['an empty value before another', two, 'reason: url: x', ['reason']],
    ['one option takes the rest', [option('reason')], 'because of: this', { reason: 'because of: this' }],
    ['one option, its name inside', [option('reason')], 'the reason: x', { reason: 'the reason: x' }],
    ['one option by name', [option('reason')], 'reason: because', { reason: 'because' }],
    ['one option by name, twice', [option('reason')], 'reason: a reason: b', ['reason']],
    ['one option, its name and then a space before the colon', [option('reason')], 'reason : x', { reason: 'reason : x' }],
    ['one option, a longer word that begins with its name', [option('reason')], 'reasons: x', { reason: 'reasons: x' }],
    ['one option, another name first', [option('reason')], 'other: x', { reason: 'other: x' }],
    ['one option, its name glued to other text', [option('reason')], 'x:reason: y', { reason: 'x:reason: y' }],
    ['one option, nothing', [option('reason')], ' ', {}],
    ['one option, its name alone', [option('reason')], 'reason:', ['reason']],
    ['names glued inside a value', two, 'reason: a:b:url:c', { reason: 'a:b:url:c' }],
    ['a name glued to another name', two, 'reason:url:x', { reason: 'url:x' }],
    ['names at the beginning of lines', two, 'url:\nx\nreason:\ny', { url: 'x', reason: 'y' }],
    ['quotes are not special', two, 'reason: "a url: b"', { reason: '"a', url: 'b"' }],
    ['white space of any kind before a name', two, 'reason: a\u00a0url: b\u2028', { reason: 'a', url: 'b' }],
    ['a space before the colon is no name', two, 'reason: a url : b', { reason: 'a url : b' }],
    ['half a surrogate pair', two, 'reason: \ud83d', { reason: '\ufffd' }],
    ['required and absent', [option('reason', 'string', true), option('url')], 'url: x', ['reason']],
    ['optional and absent is left out', [option('reason', 'string', true), option('url')], 'reason: x', { reason: 'x' }],
    ['names of an object’s own', [option('constructor'), option('__proto__')], 'constructor: a', { constructor: 'a' }],
  ];
  for (const [about, options, text, result] of rows) it(about, () => expect(read(options, { text })).to.deep.equal(result));

  it('neither text nor options means none', () => expect(read(two, {})).to.deep.equal({}));
  it('values come in the order of the command', () =>
    expect(parseOptions(two, { text: 'url: x reason: y' }).values.map(({ name }) => name)).to.deep.equal(['reason', 'url']));
});

describe('option parser: types', () => {
  const bad = Symbol('refused');
  const rows: [OptionType, string, unknown][] = [
    ['string', 'a', 'a'],
    ['string', '$answer', '$answer'],
    ['string', '😀'.repeat(2000), '😀'.repeat(2000)],
    ['string', '😀'.repeat(2001), bad],
    ['integer', '0', 0],
    ['integer', '-0', 0],
    ['integer', '-42', -42],
    ['integer', '+7', 7],
    ['integer', '007', 7],
    ['number', '+1.', 1],
    ['integer', '9007199254740991', 9007199254740991],
    ['integer', '9007199254740992', bad],
    ['integer', '9007199254740993', bad],
    ['integer', '1.5', bad],
    ['integer', '1.0', bad],
    ['integer', '1e3', bad],
    ['integer', '0x10', bad],
    ['integer', '1 2', bad],
    ['integer', '１', bad],
    ['number', '1.5', 1.5],
    ['number', '-.5', -0.5],
    ['number', '3', 3],
    ['number', 'NaN', bad],
    ['number', 'Infinity', bad],
    ['number', '1e999', bad],
    ['number', '1,5', bad],
    ['number', '.', bad],
    ['boolean', 'true', true],
    ['boolean', 'Yes', true],
    ['boolean', 'ON', true],
    ['boolean', 'false', false],
    ['boolean', 'nO', false],
    ['boolean', 'off', false],
    ['boolean', '1', bad],
    ['boolean', 'y', bad],
    ['user', `<@${id}>`, id],
    ['user', id, bad],
    ['user', `<@&${id}>`, bad],
    ['user', '<@1>', bad],
    ['user', `<@${id}> x`, bad],
    ['role', `<@&${id}>`, id],
    ['role', `<@${id}>`, bad],
    ['channel', id, id],
    ['channel', '12', bad],
    ['channel', `<#${id}>`, bad],
  ];
  for (const [type, text, value] of rows)
    it(`${type}: ${text.length > 30 ? `${lengthOf(text)} characters` : text} ${value === bad ? 'is refused' : 'is read'}`, () => {
      const expected = value === bad ? ['it'] : { it: value };
      expect(read([option('it', type)], { text: `it: ${text}` })).to.deep.equal(expected);
      expect(read([option('it', type)], { text })).to.deep.equal(expected);
    });
});

describe('option parser: options one by one', () => {
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
  for (const [type, value, result] of good) it(`${type} takes ${value}`, () => expect(send(type, value)).to.deep.equal({ it: result }));
  const refused: [OptionType, string | number | boolean][] = [
    ['string', 5],
    ['string', ''],
    ['integer', '5'],
    ['integer', 1.5],
    ['integer', 2 ** 53],
    ['number', '1.5'],
    ['number', Number.POSITIVE_INFINITY],
    ['number', Number.NaN],
    ['boolean', 1],
    ['user', 5],
    ['user', `<@&${id}>`],
    ['channel', true],
  ];
  for (const [type, value] of refused)
    it(`${type} refuses ${JSON.stringify(value)}`, () => expect(send(type, value)).to.deep.equal(['it']));

  it('unknown, twice and missing are told by name', () => {
    const options = [option('need', 'string', true), option('a')];
    const given = ['a', 'a', 'b'].map((name) => ({ name, value: 'x' }));
    expect(read(options, { options: given })).to.deep.equal(['a', 'b', 'need']);
  });
  it('an empty list means none', () => expect(read(two, { options: [] })).to.deep.equal({}));
});
