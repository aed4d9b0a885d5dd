import { expect } from 'chai';
import fc from 'fast-check';
import { findLinks, findMentions, parseMarkup, type Token } from '../../lib/base/markup.ts';

/** The token tree in short form, such as `bold(text:x)`. */
const brief = (tokens: Token[]): string =>
  tokens
    .map((token) => {
      if ('children' in token) return `${token.type}(${brief(token.children)})`;
      switch (token.type) {
        case 'text':
        case 'code':
          return `${token.type}:${token.text}`;
        case 'codeblock':
          return `codeblock[${token.lang}]:${token.text}`;
        case 'link':
          return `${token.preview ? 'link' : 'quiet'}:${token.url}`;
        case 'userMention':
        case 'roleMention':
        case 'channelMention':
          return `${token.type}:${token.id}`;
        case 'everyone':
          return `@${token.kind}`;
        case 'emoji':
          return `${token.animated ? 'a' : ''}:${token.name}:${token.id}`;
      }
    })
    .join(' + ');

const rows: [content: string, tree: string][] = [
  ['', ''],
  ['plain text', 'text:plain text'],
  ['**bold**', 'bold(text:bold)'],
  ['*italic*', 'italic(text:italic)'],
  ['__underline__', 'underline(text:underline)'],
  ['~~strike~~', 'strike(text:strike)'],
  ['||spoiler||', 'spoiler(text:spoiler)'],
  ['|| spoiler ||', 'spoiler(text: spoiler )'],
  ['**bold *both* bold**', 'bold(text:bold  + italic(text:both) + text: bold)'],
  ['*a **b** c*', 'italic(text:a  + bold(text:b) + text: c)'],
  ['***both***', 'bold(italic(text:both))'],
  ['***a* b**', 'bold(italic(text:a) + text: b)'],
  ['***a** b*', 'italic(bold(text:a) + text: b)'],
  ['***a**', 'text:* + bold(text:a)'],
  ['**a****b**', 'bold(text:a) + bold(text:b)'],
  ['||**__~~x~~__**||', 'spoiler(bold(underline(strike(text:x))))'],
  ['**open', 'text:**open'],
  ['**a *b** c*', 'bold(text:a *b) + text: c*'],
  ['2 * 3 * 4', 'text:2 * 3 * 4'],
  ['fill in ____ and *****', 'text:fill in ____ and *****'],
  ['****', 'text:****'],
  ['a_b_c ~ | x', 'text:a_b_c ~ | x'],
  ['|||a|||', 'spoiler(text:|a|)'],
  ['`code`', 'code:code'],
  ['``a ` b``', 'code:a ` b'],
  ['`**x**`', 'code:**x**'],
  ['`a', 'text:`a'],
  ['``a`', 'text:``a`'],
  ['` `', 'text:` `'],
  ['```\nblock\n```', 'codeblock[]:block'],
  ['```js\nlet x = `1`;\n```', 'codeblock[js]:let x = `1`;'],
  ['```js\r\nx\r\n```', 'codeblock[js]:x'],
  ['```js\n```', 'codeblock[]:js'],
  ['```one line```', 'codeblock[]:one line'],
  ['```open `x`', 'text:```open  + code:x'],
  ['**a `**` b**', 'bold(text:a  + code:** + text: b)'],
  ['\\*x\\*', 'text:*x*'],
  ['\\\\*x*', 'text:\\ + italic(text:x)'],
  ['\\`@here`', 'text:` + @here + text:`'],
  ['C:\\temp\\', 'text:C:\\temp\\'],
  ['¯\\\\_(ツ)_/¯', 'text:¯\\_(ツ)_/¯'],
  ['\\😀', 'text:😀'],
  ['<@1234567890123456789>', 'userMention:1234567890123456789'],
  ['<@&12>', 'roleMention:12'],
  ['<#1234567890123456789>', 'channelMention:1234567890123456789'],
  ['see **<#1>**!', 'text:see  + bold(channelMention:1) + text:!'],
  ['\\<#1> `<#2>` <#x> <#12345678901234567890> <#>', 'text:<#1>  + code:<#2> + text: <#x> <#12345678901234567890> <#>'],
  ['<@12345678901234567890>', 'text:<@12345678901234567890>'],
  ['<@>', 'text:<@>'],
  ['<@12a>', 'text:<@12a>'],
  ['<@١٢>', 'text:<@١٢>'],
  ['\\<@12>', 'text:<@12>'],
  ['<\\@12>', 'text:<@12>'],
  ['hi @everyone!', 'text:hi  + @everyone + text:!'],
  ['__@here__', 'underline(@here)'],
  ['\\@everyone @Everyone', 'text:@everyone @Everyone'],
  ['me@everyone.example', 'text:me@everyone.example'],
  ['@everyones @hereford', 'text:@everyones @hereford'],
  ...'josé@everyone.example jose\u0301@here.example иван@everyone 𝒶@here @everyoneé @here٣ 用户@everyone.example j_@here.example'
    .split(' ')
    .map((text): [string, string] => [text, `text:${text}`]),
  ['大家@everyone快来', 'text:大家 + @everyone + text:快来'],
  ['모두@everyone은', 'text:모두 + @everyone + text:은'],
  ['(@here) @everyone.', 'text:( + @here + text:)  + @everyone + text:.'],
  ['@everyone.Look', '@everyone + text:.Look'],
  ['<:smile:12> <a:dance:34>', ':smile:12 + text:  + a:dance:34'],
  ['<A:dance:34> <::1>', 'text:<A:dance:34> <::1>'],
  ['see https://a.example/b?c=d.', 'text:see  + link:https://a.example/b?c=d + text:.'],
  ['(https://a.example/x_(y))', 'text:( + link:https://a.example/x_(y) + text:)'],
  ...['。', '、', '，次', '）', '」を', '！？', '؟', '،', '।', '։', '…', '”', '»', '’s', '\u200b次', '\u2069'].map(
    (after): [string, string] => [`見http://h/a${after}`, `text:見 + link:http://h/a + text:${after}`],
  ),
  ['「http://h/東京（駅）」', 'text:「 + link:http://h/東京（駅） + text:」'],
  ['»http://h/a« и «http://h/b».', 'text:» + link:http://h/a + text:« и « + link:http://h/b + text:».'],
  ['http://。 http://「a', 'text:http://。 http://「a'],
  ['éhttps://a.example', 'text:éhttps://a.example'],
  ['httpſ://a.example', 'text:httpſ://a.example'],
  ['||https://a.example||', 'spoiler(link:https://a.example)'],
  ['**https://a.example/__x__**', 'bold(link:https://a.example/__x__)'],
  ['<https://a.example/x>', 'quiet:https://a.example/x'],
  ['\\https://a.example', 'text:https://a.example'],
  ['http:// https://. xhttps://a.example ftp://a', 'text:http:// https://. xhttps://a.example ftp://a'],
  ['https://a.example/@everyone', 'link:https://a.example/@everyone'],
];

const pieces = fc.oneof(
  fc.constantFrom(...'* ** _ __ ~~ || | ` `` ``` \\ < > @ a . ) ( 😀'.split(' '), ' ', '\n', '\ud800'),
  fc.constantFrom('<@1>', '<@&2>', '@everyone', '@here', '<:x:3>', 'https://a.example', '<https://a.example>'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const contents = fc.oneof(
  fc.array(pieces, { maxLength: 60 }).map((list) => list.join('')),
  fc.string({ unit: 'binary' }),
);

/** Expects that the tokens cover `start` to `end` without gaps, except for the markers at both ends of a token with children. */
function check(content: string, tokens: Token[], start: number, end: number): void {
  let at = start;
  for (const token of tokens) {
    expect(token.start, content).to.equal(at);
    expect(token.end, content).to.be.greaterThan(at);
    at = token.end;
    if (!('children' in token)) continue;
    const width = token.type === 'italic' ? 1 : 2;
    expect(token.children.length, content).to.be.greaterThan(0);
    check(content, token.children, token.start + width, token.end - width);
  }
  expect(at, content).to.equal(end);
}

describe('parseMarkup', () => {
  for (const [content, tree] of rows) it(`parses ${JSON.stringify(content)}`, () => expect(brief(parseMarkup(content))).to.equal(tree));

  it('covers any string with tokens, without gaps', () => {
    fc.assert(
      fc.property(contents, (content) => check(content, parseMarkup(content), 0, content.length)),
      { numRuns: 1000 },
    );
  });

  it('parses text without markup as one text token', () => {
    const harmless = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ', '\n', '.', '#', '[', '(', '>', '1') });
    fc.assert(fc.property(harmless, (content) => brief(parseMarkup(content)) === (content === '' ? '' : `text:${content}`)));
  });

  const patterns = ['* ', '` ', ...'* ** *a ***a _ __a ~~ | ||a ` `a``b ``` \\ \\h < <@ <@1 <:a ['.split(' ')];
  const links = '<http:// <http://a http:// http://a* *http://a*, \\http://a http://a) http://( @everyone @her'.split(' ');
  for (const pattern of [...patterns, ...links]) {
    it(`parses 400 kB of ${JSON.stringify(pattern)} to the end`, () => {
      const content = pattern.repeat(Math.ceil(400_000 / pattern.length));
      expect(parseMarkup(content).at(-1)?.end).to.equal(content.length);
    });
  }
});

describe('findMentions', () => {
  const none = { users: [], roles: [], everyone: false, here: false };

  it('lists each id once, in the order of the first mentions', () => {
    expect(findMentions('<@3> <@&9> **<@1>** ||<@3>|| <@&9> @here')).to.deep.equal({
      users: ['3', '1'],
      roles: ['9'],
      everyone: false,
      here: true,
    });
  });

  it('finds no mention in code, whatever its content or the text before it', () => {
    const inside = fc
      .array(fc.constantFrom('<@1>', '<@&2>', '@everyone', '@here', '*', '||', ' ', '\\', '\n', 'x'), { minLength: 1 })
      .map((list) => list.join(''));
    const prefix = fc.string({ unit: fc.constantFrom('a', '*', '|', ' ', '_', '<', '@') });
    fc.assert(
      fc.property(inside, fc.constantFrom('`', '``', '```'), prefix, (text, ticks, before) => {
        expect(findMentions(`${before}${ticks}x${text}x${ticks} @y`)).to.deep.equal(none);
      }),
    );
  });

  it('finds mentions after an unclosed code span', () => expect(findMentions('`<@1>').users).to.deep.equal(['1']));
  it('finds mentions after a doubled backslash', () => expect(findMentions('\\\\<@1>').users).to.deep.equal(['1']));
});

describe('findLinks', () => {
  it('lists bare links once, in order', () => {
    expect(findLinks('https://b.example, http://a.example! https://b.example')).to.deep.equal(['https://b.example', 'http://a.example']);
  });
  it('finds no link in angle brackets, in code or after a backslash', () => {
    expect(findLinks('<https://a.example> `https://b.example` ```https://c.example``` \\https://d.example')).to.deep.equal([]);
  });
});
