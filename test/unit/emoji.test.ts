import { expect } from 'chai';
import { readEmoji } from '../../lib/base/emoji.ts';

const range = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));
const bare = (text: string): string => text.replace(/\uFE0F/g, '');

describe('readEmoji', () => {
  const england = '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}';
  /** Besides every Unicode emoji, which the test below reads with and without its selectors. */
  const known: [what: string, text: string, emoji: string][] = [
    ['a heart in text style', '❤\uFE0E', '❤\uFE0F'],
    ['a thumb with an unneeded selector', '👍\uFE0F', '👍'],
    ['a family', '👨‍👩‍👧', '👨‍👩‍👧'],
    ['the rainbow flag', '🏳\uFE0F‍🌈', '🏳\uFE0F‍🌈'],
    ['the rainbow flag without its selector', '🏳‍🌈', '🏳\uFE0F‍🌈'],
    ['a subdivision flag', england, england],
    ['an emoji with two selectors', '👁\uFE0F‍🗨\uFE0F', '👁\uFE0F‍🗨\uFE0F'],
    ['an emoji without its two selectors', '👁‍🗨', '👁\uFE0F‍🗨\uFE0F'],
    ['a couple with two skin tones', '👩🏻‍❤‍💋‍👨🏿', '👩🏻‍❤\uFE0F‍💋‍👨🏿'],
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

  const invalid: Record<string, string[]> = {
    text: ['', '  ', 'a', 'thumbsup', '5', '5\uFE0F', '#', '%F0%9F%91%8D', '\uD83D'],
    'an emoji and something else': ['👍👍', '1\uFE0F\u20E32\uFE0F\u20E3', '👍a', '👍 ', '👍\n', '👍'.repeat(10_000)],
    'a selector or joiner at the wrong place': ['\uFE0F', '\uFE0F👍', '❤\uFE0F\uFE0F', '\u200D', '👍\u200D'],
    'a flag of no country': ['🇽🇽'],
    'a custom emoji without its name or id, or in another form': [':1', 'a:', '<:a:1>', 'a:b:1', 'a:1\n'],
    'a custom name that is too long or has other characters': [`${'a'.repeat(33)}:1`, 'a b:1', 'é:1'],
    'a custom id that is too long or no number': [`a:${'1'.repeat(20)}`, 'a:1x', 'a:١'],
  };
  for (const [what, texts] of Object.entries(invalid))
    it(`returns null for ${what}`, () => {
      for (const text of texts) expect(readEmoji(text), text.slice(0, 40)).to.equal(null);
    });
});
