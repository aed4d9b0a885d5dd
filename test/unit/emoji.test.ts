import { expect } from 'chai';
import { readEmoji } from '../../lib/base/emoji.ts';

const range = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));
const bare = (text: string): string => text.replace(/\uFE0F/g, '');

describe('readEmoji', () => {
  const known: [what: string, text: string, emoji: string][] = [
    ['a heart with its variation selector', '❤\uFE0F', '❤\uFE0F'],
    ['a heart without its variation selector', '❤', '❤\uFE0F'],
    ['a heart in text style', '❤\uFE0E', '❤\uFE0F'],
    ['a thumb', '👍', '👍'],
    ['a thumb with an unneeded selector', '👍\uFE0F', '👍'],
    ['a thumb with a skin tone', '👍🏽', '👍🏽'],
    ['a family', '👨‍👩‍👧', '👨‍👩‍👧'],
    ['the rainbow flag', '🏳\uFE0F‍🌈', '🏳\uFE0F‍🌈'],
    ['the rainbow flag without its selector', '🏳‍🌈', '🏳\uFE0F‍🌈'],
    ['a country flag', '🇨🇭', '🇨🇭'],
    [
      'a subdivision flag',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    ],
    ['a keycap', '#\uFE0F\u20E3', '#\uFE0F\u20E3'],
    ['a keycap without its selector', '5\u20E3', '5\uFE0F\u20E3'],
    ['a symbol', '©\uFE0F', '©\uFE0F'],
    ['a symbol without its selector', '©', '©\uFE0F'],
    ['an emoji with two selectors', '👁\uFE0F‍🗨\uFE0F', '👁\uFE0F‍🗨\uFE0F'],
    ['an emoji without its two selectors', '👁‍🗨', '👁\uFE0F‍🗨\uFE0F'],
    ['a skin tone in place of a selector', '🕵🏽‍♂', '🕵🏽‍♂\uFE0F'],
    ['a couple with two skin tones', '👩🏻‍❤‍💋‍👨🏿', '👩🏻‍❤\uFE0F‍💋‍👨🏿'],
    ['a skin tone alone', '🏽', '🏽'],
    ['a letter with an unneeded selector', '🇦\uFE0F', '🇦'],
    ...range(0x1f1e6, 0x1f1ff).map((letter): [string, string, string] => ['a regional indicator letter', letter, letter]),
  ];
  for (const [what, text, emoji] of known)
    it(`reads ${what} as ${emoji}`, () => expect(readEmoji(text)).to.deep.equal({ identity: bare(emoji), emoji }));

  it('distinguishes skin tones, flags and joined emoji', () => {
    const texts = ['👍', ...range(0x1f3fb, 0x1f3ff).map((tone) => `👍${tone}`), '🇨🇭', '🇨🇦', '🏳', '🏳‍🌈', '👨', '👨‍👩‍👧'];
    expect(new Set(texts.map((text) => readEmoji(text)?.identity)).size).to.equal(texts.length);
  });

  it('reads every Unicode emoji with and without its selectors, and distinguishes all of them', () => {
    const rgi = new RegExp('^\\p{RGI_Emoji}$', 'v');
    const letters = range(0x1f1e6, 0x1f1ff);
    const points = range(0xa9, 0x1ffff).filter((one) => /\p{Emoji}/u.test(one));
    const tones = range(0x1f3fb, 0x1f3ff);
    const all = [
      ...points.flatMap((one) => [one, `${one}\uFE0F`, ...tones.map((tone) => one + tone)]),
      ...letters.flatMap((one) => letters.map((other) => one + other)),
      ...'0123456789#*'.split('').map((one) => `${one}\uFE0F\u20E3`),
      ...points.flatMap((one) =>
        ['♀\uFE0F', '♂\uFE0F'].flatMap((sign) =>
          [one, `${one}\uFE0F`, ...tones.map((tone) => one + tone)].map((who) => `${who}\u200D${sign}`),
        ),
      ),
    ].filter((one) => rgi.test(one));
    expect(all.length).to.be.greaterThan(2_500);
    for (const emoji of all) {
      expect(readEmoji(emoji), emoji).to.deep.equal({ identity: bare(emoji), emoji });
      expect(readEmoji(bare(emoji)), emoji).to.deep.equal({ identity: bare(emoji), emoji });
    }
    expect(new Set(all.map(bare)).size).to.equal(all.length);
  });

  it('identifies a custom emoji by its id', () => {
    expect(readEmoji('party_1:123')).to.deep.equal({ identity: '123', emoji: 'party_1:123' });
    expect(readEmoji(`${'a'.repeat(32)}:${'9'.repeat(19)}`)?.identity).to.equal('9'.repeat(19));
  });

  const invalid: [what: string, text: string][] = [
    ['an empty text', ''],
    ['spaces', '  '],
    ['a letter', 'a'],
    ['a word', 'thumbsup'],
    ['a digit', '5'],
    ['a digit with a selector', '5\uFE0F'],
    ['a number sign', '#'],
    ['two emoji', '👍👍'],
    ['two keycaps', '1\uFE0F\u20E32\uFE0F\u20E3'],
    ['an emoji and a letter', '👍a'],
    ['an emoji and a space', '👍 '],
    ['an emoji and a line break', '👍\n'],
    ['a selector alone', '\uFE0F'],
    ['a selector in front', '\uFE0F👍'],
    ['two selectors', '❤\uFE0F\uFE0F'],
    ['a joiner alone', '\u200D'],
    ['an emoji with a trailing joiner', '👍\u200D'],
    ['a flag of no country', '🇽🇽'],
    ['half a surrogate pair', '\uD83D'],
    ['a percent-encoded emoji', '%F0%9F%91%8D'],
    ['a very long text', '👍'.repeat(10_000)],
    ['a custom emoji without its name', ':1'],
    ['a custom emoji without its id', 'a:'],
    ['a custom emoji in angle brackets', '<:a:1>'],
    ['an animated emoji', 'a:b:1'],
    ['a custom name of 33 characters', `${'a'.repeat(33)}:1`],
    ['a custom id of 20 digits', `a:${'1'.repeat(20)}`],
    ['a custom id that is not a number', 'a:1x'],
    ['a custom name with a space', 'a b:1'],
    ['a custom name with non-ASCII letters', 'é:1'],
    ['a custom id with non-ASCII digits', 'a:١'],
    ['a custom emoji and a line break', 'a:1\n'],
  ];
  for (const [what, text] of invalid) it(`returns null for ${what}`, () => expect(readEmoji(text)).to.equal(null));
});
