import { expect } from 'chai';
import fc from 'fast-check';
import { parseMarkup } from '../../lib/base/markup.ts';
import { escapeMarkup } from '../../lib/base/text.ts';

describe('escapeMarkup', () => {
  const marks = '** * __ _ ~~ || | ` ``` \\ < > @everyone @here @ . ) a h 😀 C:\\temp'.split(' ');
  const things = '<@1234567890123456789> <@&1234567890123456789> <:smile:12> https:// HTTP:// a.example/x_y'.split(' ');
  const pieces = fc.constantFrom(...marks, ...things, ' ', '\n');

  it('shows any text as it was written', () => {
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 12 }), (parts) => {
        const text = parts.join('');
        const tokens = parseMarkup(escapeMarkup(text));
        expect(tokens.map((token) => [token.type, 'text' in token ? token.text : null])).to.deep.equal([['text', text]]);
      }),
      { numRuns: 3_000 },
    );
  });
});
