import { expect } from 'chai';
import fc from 'fast-check';
import { foldSearch, hasControlCharacters, isBlank, isName, toNeedles } from '../../lib/base/text.ts';

describe('foldSearch', () => {
  const folds = [
    'José jose, JOSÉ jose, Jose\u0301 jose, İstanbul istanbul, ISTANBUL istanbul, ılık ilik, Müller muller, Straße strasse',
    'Łódź lodz, Ørsted orsted, Đặng dang, ｊｏｓｅ１ jose1, ﬁne fine, Σίσυφος σισυφοσ, Ёлка елка, がぎ がぎ, ｶﾞ ガ, हिन्दी हिन्दी',
    '한국 한국, \u0301 \u0301, a_b.c a_b.c',
  ].flatMap((line) => line.split(', ').map((pair) => pair.split(' ')));
  for (const [text = '', folded] of [...folds, ['Œuvre Æther', 'oeuvre aether'], ['عُمَر', 'عمر'], ['שָׁלוֹם', 'שלום']])
    it(`${text} → ${folded}`, () => expect(foldSearch(text)).to.equal(folded));

  it('gives the same for what it gave, and for all forms of a text', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const folded = foldSearch(text);
        expect(foldSearch(folded)).to.equal(folded);
        for (const form of ['NFC', 'NFD'] as const) expect(foldSearch(text.normalize(form))).to.equal(folded);
      }),
    ));

  it('searches for the form of an older version, too', () => {
    expect(toNeedles('José')).to.deep.equal(['jose', 'josé']);
    expect(toNeedles('Jose')).to.deep.equal(['jose']);
  });
});

describe('isName', () => {
  it('is false for what shows nothing, several lines and control characters', () => {
    for (const text of ['', ' ', '\u200b', '\u3164', 'a\nb', 'a\u2028b', 'a\0', '\u000b', 'a\u007f'])
      expect(isName(text), text).to.equal(false);
    for (const text of ['a', 'a\tb', '\u0301', '❤️']) expect(isName(text), text).to.equal(true);
  });
  it('isBlank and hasControlCharacters', () => {
    expect([isBlank('\0'), isBlank('\u{1d159}'), isBlank('.')]).to.deep.equal([true, true, false]);
    expect([hasControlCharacters('a\n\r\tb'), hasControlCharacters('\u0085')]).to.deep.equal([false, true]);
  });
});
