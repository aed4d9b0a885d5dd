import { expect } from 'chai';
import { commandLineOf, valueOf } from '../../apps/web/client/chat/command-line.ts';
import { queryAt } from '../../apps/web/client/chat/completion-query.ts';
import { type Meaning, readableOf, tokenFor, wireOf } from '../../apps/web/client/chat/composer-tokens.ts';
import { fileFaults } from '../../apps/web/client/chat/upload-checks.ts';
import type { OptionType } from '../../lib/contract/command.ts';

const person = (id: number): Meaning => ({ content: `<@${id}>`, option: `<@${id}>` });
const channel: Meaning = { content: '<https://parlance.example/servers/1/2>', option: '2' };
const tokens = new Map([
  ['@Ada', person(1)],
  ['@Ada Lovelace', person(2)],
  ['@*Bob*', person(3)],
  ['@a`b', person(4)],
  ['@$& (x)', person(5)],
  ['@Zoë', person(6)],
  ['#general', channel],
]);

describe('composer: what is written becomes what is sent', () => {
  const rows: [what: string, text: string, content: string][] = [
    ['a name', 'Hello @Ada!', 'Hello <@1>!'],
    ['the longer of two names', '@Ada Lovelace and @Ada', '<@2> and <@1>'],
    ['a name within a longer word stays', '@Adam, @Ada_, @Ada2, x@Ada, @Zoëlle', '@Adam, @Ada_, @Ada2, x@Ada, @Zoëlle'],
    ['a name that is a word’s beginning in another script', '@Zoë!', '<@6>!'],
    ['a name behind a backslash stays', '\\@Ada', '\\@Ada'],
    ['names with markup of their own', '**@*Bob*** @a`b @a`b', '**<@3>** <@4> <@4>'],
    ['a name with the signs of patterns', '@$& (x)', '<@5>'],
    ['code stays', '`@Ada` @Ada', '`@Ada` <@1>'],
    ['a block of code stays', '```js\n@Ada #general\n``` @Ada', '```js\n@Ada #general\n``` <@1>'],
    ['code within bold stays', '**`@Ada` @Ada**', '**`@Ada` <@1>**'],
    ['a link stays', 'https://x.example/@Ada', 'https://x.example/@Ada'],
    ['a channel is a link', 'See #general.', `See ${channel.content}.`],
    ['what nobody took from a list stays', '@Eve @everyone', '@Eve @everyone'],
  ];
  for (const [what, text, content] of rows) it(what, () => expect(wireOf(text, tokens, 'content')).to.equal(content));

  it('an option takes a channel’s id', () => expect(wireOf('where: #general', tokens, 'option')).to.equal('where: 2'));

  const names: [what: string, names: string[], token: string][] = [
    ['a free name', ['Grace'], '@Grace'],
    ['a name that another has: the username', ['Ada', 'ada.l'], '@ada.l'],
    ['no name left: the mention itself', ['Ada'], '<@9>'],
    ['a name that would ping everyone', ['everyone', 'here'], '<@9>'],
    ['a name that turns the writing around', ['\u202eadA', 'ada'], '@ada'],
    ['a name of nothing', ['', 'ada'], '@ada'],
  ];
  for (const [what, given, token] of names)
    it(`${what} is ${token}`, () => expect(tokenFor(tokens, '@', given, person(9))).to.equal(token));
  it('the same person keeps their name', () => expect(tokenFor(tokens, '@', ['Ada'], person(1))).to.equal('@Ada'));
});

describe('composer: what was sent becomes what is edited', () => {
  const names: Record<string, string[]> = { 1: ['Ada', 'ada.l'], 2: ['Ada', 'ada.b'], 3: ['everyone'], 4: [] };
  const rows: [what: string, content: string, text: string][] = [
    ['a mention', 'Hello <@1>!', 'Hello @Ada!'],
    ['two of one name', '<@1> <@2> <@1>', '@Ada @ada.b @Ada'],
    ['a role, within bold', '**<@&7>**', '**@role 7**'],
    ['code stays', '`<@1>`', '`<@1>`'],
    ['what no name fits stays', '<@3> <@4> <@1>', '<@3> <@4> @Ada'],
    ['a text that holds a name already stays as it is', '@Ada and <@1>', '@Ada and <@1>'],
    ['a mention within a word stays as it is', 'x<@1>', 'x<@1>'],
  ];
  for (const [what, content, text] of rows)
    it(what, () => {
      const readable = readableOf(content, (kind, id) => (kind === 'roleMention' ? [`role ${id}`] : (names[id] ?? [])));
      expect(readable.text).to.equal(text);
      expect(wireOf(readable.text, readable.tokens, 'content')).to.equal(content);
    });
});

describe('composer: what is being completed', () => {
  const at = (text: string): string | null => {
    const query = queryAt(text, text.length, tokens.keys());
    return query && `${query.sign}${query.wanted}@${query.start}`;
  };
  const rows: [text: string, query: string | null][] = [
    ['/', '/@0'],
    ['/he', '/he@0'],
    ['/hello ', null],
    ['a /he', null],
    ['/etc/ho', null],
    ['@', '@@0'],
    ['hi @gr', '@gr@3'],
    ['hi @grace hop', '@grace hop@3'],
    ['hi @grace hop per', null],
    ['hi @grace ', null],
    ['mail@gr', null],
    ['(@gr', '@gr@1'],
    ['**@gr', '@gr@2'],
    ['@Ada', null],
    ['@Ada how', null],
    ['@Adam', '@Adam@0'],
    ['line\n@gr', '@gr@5'],
    ['in #gen', '#gen@3'],
    ['C#gen', null],
    [':s', null],
    [':sm', ':sm@0'],
    ['so :+1', ':+1@3'],
    ['10:30', null],
    ['`@gr', null],
    ['`a` @gr', '@gr@4'],
    ['```\n@gr', null],
    ['```\na\n``` @gr', '@gr@10'],
    [`${'x'.repeat(5000)} @gr`, '@gr@5001'],
  ];
  for (const [text, query] of rows) it(`${JSON.stringify(text.slice(-20))} → ${query}`, () => expect(at(text)).to.equal(query));
});

describe('composer: commands as text', () => {
  const lines: [text: string, line: { name: string; rest: string } | null][] = [
    ['/hello', { name: 'hello', rest: '' }],
    ['/hello  who: @Ada\nand more ', { name: 'hello', rest: 'who: @Ada\nand more' }],
    ['/etc/hosts', null],
    ['/', null],
    ['/ hello', null],
    ['//hello', null],
    ['/Hello', null],
    ['say /hello', null],
    [`/${'a'.repeat(33)}`, null],
  ];
  for (const [text, line] of lines)
    it(`${JSON.stringify(text.slice(0, 24))} → ${JSON.stringify(line)}`, () => expect(commandLineOf(text)).to.deep.equal(line));

  const values: [type: OptionType, typed: string, value: string | number | boolean][] = [
    ['string', ' as it is ', ' as it is '],
    ['integer', ' -12 ', -12],
    ['integer', '1.5', '1.5'],
    ['integer', '1e3', '1e3'],
    ['integer', '9'.repeat(400), '9'.repeat(400)],
    ['number', '.5', 0.5],
    ['number', '1e999', '1e999'],
    ['number', 'NaN', 'NaN'],
    ['boolean', 'true', true],
    ['boolean', 'false', false],
    ['boolean', 'maybe', 'maybe'],
    ['user', ' 1 ', '1'],
  ];
  for (const [type, typed, value] of values)
    it(`${type} ${JSON.stringify(typed.slice(0, 12))} is sent as ${JSON.stringify(value).slice(0, 12)}`, () =>
      expect(valueOf(type, typed)).to.equal(value));
});

describe('composer: files', () => {
  const mib = 1024 * 1024;
  it('the empty and the too large are told apart, and do not count among the ten', () => {
    const sizes = [0, 10 * mib + 1, 10 * mib, ...Array.from({ length: 10 }, () => 1)];
    const faults = fileFaults(sizes.map((size) => ({ size })));
    expect(faults.slice(0, 3)).to.deep.equal(['This file is empty.', 'Larger than 10 MB.', null]);
    expect(faults.slice(3, -1).every((fault) => fault === null)).to.equal(true);
    expect(faults.at(-1)).to.equal('One too many: a message takes 10 files.');
  });
});
