import { expect } from 'chai';
import fc from 'fast-check';
import { parseMarkup, type Token } from '../../lib/base/markup.ts';
import { truncateMarkup } from '../../lib/base/markup-truncate.ts';
import { countCodePoints } from '../../lib/base/text.ts';

/** The text that a reader sees before a spoiler is opened. */
const openOf = (content: string): string => {
  const shown = (token: Token): string =>
    token.type === 'spoiler' ? '' : 'children' in token ? token.children.map(shown).join('') : content.slice(token.start, token.end);
  return parseMarkup(content).map(shown).join('');
};

describe('the start of a message content', () => {
  const cases: [name: string, content: string, max: number, start: string][] = [
    ['a short content', '||all||', 7, '||all||'],
    ['plain text', 'plain text', 5, 'plain'],
    ['a long spoiler', `||${'x'.repeat(300)}||`, 10, `||${'x'.repeat(6)}||`],
    ['a spoiler that begins before the cut', 'see ||the butler did it||', 14, 'see ||the bu||'],
    ['a spoiler in bold', '**||the butler did it||**', 16, '**||the butl||**'],
    ['bold in a spoiler', '||**the butler did it**||', 16, '||**the butl**||'],
    ['white space before the cut', '*one two three*', 6, '*one*'],
    ['no space for anything in the spoiler', 'see ||the butler||', 8, 'see '],
    ['a mention', 'hello <@1234567890123456789>', 12, 'hello '],
    ['a backslash', 'a\\*b', 2, 'a'],
    ['characters of two units', '||😀😀😀😀||', 6, '||😀😀||'],
  ];
  for (const [name, content, max, start] of cases)
    it(`cuts ${name}`, () => {
      expect(truncateMarkup(content, max)).to.equal(start);
    });

  it('never shows what the whole content hides, whatever stands around the cut', () => {
    const piece = fc.constantFrom('||', '**', '*', '~~', '__', '`', '```', '\\', ' ', '|', 'a', '😀', '<@1>', 'http://h/', '\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.integer({ min: 1, max: 40 }), (pieces, max) => {
        const content = `${pieces.join('')}||${'s'.repeat(50)}||`;
        const start = truncateMarkup(content, max);
        expect(countCodePoints(start)).to.be.at.most(max);
        // A visible "s" outside a spoiler exists only if the whole content has one.
        if (!openOf(content).includes('s')) expect(openOf(start)).to.not.contain('s');
      }),
      { numRuns: 500 },
    );
  });
});
