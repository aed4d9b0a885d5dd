import { expect } from 'chai';
import { commandLineOf, valueOf } from '../../apps/web/client/chat/command-line.ts';
import { queryAt } from '../../apps/web/client/chat/completion-query.ts';
import { type Meaning, readableOf, toContent, tokenFor } from '../../apps/web/client/chat/composer-tokens.ts';
import { fileErrors } from '../../apps/web/client/chat/upload-checks.ts';
import type { OptionType } from '../../lib/contract/command.ts';

const person = (id: number): Meaning => ({ content: `<@${id}>`, option: `<@${id}>` });
const channel: Meaning = { content: '<https://parlance.example/servers/1/2>', option: '2' };
const tokens = new Map([
  ['@Ada', person(1)],
  ['@Ada Lovelace', person(2)],
  ['@*Bob*', person(3)],
  ['@a`b', person(4)],
  ['@$& (x)', person(5)],
  ['@^\\.*+?[{}]|/-', person(7)],
  ['@Zoë', person(6)],
  ['#general', channel],
]);

describe('composer: text to content', () => {
  const rows: [what: string, text: string, content: string][] = [
    ['replaces a name', 'Hello @Ada!', 'Hello <@1>!'],
    ['prefers the longer of two names', '@Ada Lovelace and @Ada', '<@2> and <@1>'],
    ['keeps a name within a longer word', '@Adam, @Ada_, @Ada2, x@Ada, @Zoëlle', '@Adam, @Ada_, @Ada2, x@Ada, @Zoëlle'],
    ['replaces a name with non-ASCII letters', '@Zoë!', '<@6>!'],
    ['keeps a name after a backslash', '\\@Ada', '\\@Ada'],
    ['replaces names that contain markup', '**@*Bob*** @a`b @a`b', '**<@3>** <@4> <@4>'],
    ['replaces a name with special characters of regular expressions', '@$& (x) @^\\.*+?[{}]|/-', '<@5> <@7>'],
    ['keeps inline code', '`@Ada` @Ada', '`@Ada` <@1>'],
    ['keeps a code block', '```js\n@Ada #general\n``` @Ada', '```js\n@Ada #general\n``` <@1>'],
    ['keeps code within bold text', '**`@Ada` @Ada**', '**`@Ada` <@1>**'],
    ['keeps a link', 'https://x.example/@Ada', 'https://x.example/@Ada'],
    ['replaces a channel by its link', 'See #general.', `See ${channel.content}.`],
    [
      'replaces a name before and after letters of scripts without spaces',
      'こんにちは@Adaさん、@Ada님 @Adaー',
      'こんにちは<@1>さん、<@1>님 <@1>ー',
    ],
    ['keeps names that were not chosen from a list', '@Eve @everyone', '@Eve @everyone'],
  ];
  for (const [what, text, content] of rows) it(what, () => expect(toContent(text, tokens, 'content')).to.equal(content));

  it('replaces a channel by its id in an option', () => expect(toContent('where: #general', tokens, 'option')).to.equal('where: 2'));

  const names: [what: string, names: string[], token: string][] = [
    ['a unique name', ['Grace'], '@Grace'],
    ['a name that another person has (uses the username)', ['Ada', 'ada.l'], '@ada.l'],
    ['a person without a free name (uses the mention)', ['Ada'], '<@9>'],
    ['a name that would mention everyone', ['everyone', 'here'], '<@9>'],
    ['a name with a direction override', ['\u202eadA', 'ada'], '@ada'],
    ['an empty name', ['', 'ada'], '@ada'],
  ];
  for (const [what, given, token] of names)
    it(`inserts ${token} for ${what}`, () => expect(tokenFor(tokens, '@', given, person(9))).to.equal(token));
  it('inserts the same name for a person again', () => expect(tokenFor(tokens, '@', ['Ada'], person(1))).to.equal('@Ada'));
});

describe('composer: content to text', () => {
  const names: Record<string, string[]> = { 1: ['Ada', 'ada.l'], 2: ['Ada', 'ada.b'], 3: ['everyone'], 4: [] };
  const rows: [what: string, content: string, text: string][] = [
    ['replaces a mention', 'Hello <@1>!', 'Hello @Ada!'],
    ['replaces mentions of two people with the same name', '<@1> <@2> <@1>', '@Ada @ada.b @Ada'],
    ['replaces a role within bold text', '**<@&7>**', '**@role 7**'],
    ['keeps code', '`<@1>`', '`<@1>`'],
    ['keeps mentions without a usable name', '<@3> <@4> <@1>', '<@3> <@4> @Ada'],
    ['keeps all of a text that already contains the name', '@Ada and <@1>', '@Ada and <@1>'],
    ['keeps a mention within a word', 'x<@1>', 'x<@1>'],
  ];
  for (const [what, content, text] of rows)
    it(what, () => {
      const readable = readableOf(content, (kind, id) => (kind === 'roleMention' ? [`role ${id}`] : (names[id] ?? [])));
      expect(readable.text).to.equal(text);
      expect(toContent(readable.text, readable.tokens, 'content')).to.equal(content);
    });
});

describe('composer: completion query', () => {
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
    ['こんにちは@gr', '@gr@5'],
    ['你好，@gr', '@gr@3'],
    ['好。:sm', ':sm@2'],
    ['ok.@gr', '@gr@3'],
    ['(see:#gen', '#gen@5'],
    ['안녕@그', '@그@2'],
    ['@Adaさ', null],
    ['std::ve', null],
    ['http://h/@gr', null],
    ['_@gr', '@gr@1'],
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
  it('has an error for each empty, too large and eleventh file, and does not count empty and too large files', () => {
    const sizes = [0, 10 * mib + 1, 10 * mib, ...Array.from({ length: 10 }, () => 1)];
    const errors = fileErrors(sizes.map((size) => ({ size })));
    expect(errors.slice(0, 3)).to.deep.equal(['This file is empty.', 'This file is larger than 10 MB.', null]);
    expect(errors.slice(3, -1).every((error) => error === null)).to.equal(true);
    expect(errors.at(-1)).to.equal('A message can have at most 10 files.');
  });
});
