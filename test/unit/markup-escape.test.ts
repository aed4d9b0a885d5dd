import { expect } from 'chai';
import fc from 'fast-check';
import { parseMarkup } from '../../lib/base/markup.ts';
import { escapeMarkup } from '../../lib/base/markup-escape.ts';

const shown = (text: string): unknown => parseMarkup(escapeMarkup(text)).map((token) => (token.type === 'text' ? token.text : token.type));

describe('escapeMarkup', () => {
  for (const text of [
    '**bold** *it* __u__ ~~s~~ ||spoiler||',
    '`code` ```\nblock\n```',
    '@everyone @here <@1000000000000000001> <@&1000000000000000001>',
    '<:name:1000000000000000001> <a:name:1>',
    'https://example.com/a_b*c*d <https://example.com>',
    'http://https://a HTTPS://B xhttp://c https://',
    'C:\\temp \\* \\',
    'https://*a https://_a https://\\a',
  ])
    it(`escapes ${JSON.stringify(text)} so that it is shown unchanged`, () => expect(shown(text)).to.deep.equal([text]));

  it('does not change text without markup', () => {
    for (const text of ['Home | Example', 'a_b ~5 |x| _u_', 'I <3 <b>you</b>', 'me@example.com (@ada)', 'http and https: both'])
      expect(escapeMarkup(text)).to.equal(text);
  });

  it('escapes any text so that it is shown unchanged', () => {
    const pieces = fc.constantFrom(...'\\ ` * _ ~ | < > @ http:// https:// hTTp :// everyone : 1 a . ( ) 😀'.split(' '), ' ', '\n');
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 5, arbitrary: pieces }, fc.string()), { minLength: 1, maxLength: 30 }), (parts) => {
        const text = parts.join('');
        expect(shown(text)).to.deep.equal(text === '' ? [] : [text]);
      }),
      { numRuns: 3_000 },
    );
  });
});
