import { expect } from 'chai';
import { readEmoji } from '../../lib/base/emoji.ts';

const range = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));
const bare = (text: string): string => text.replace(/\uFE0F/g, '');

describe('readEmoji', () => {
  const known: [what: string, text: string, emoji: string][] = [
    ['a heart with its selector', '❤\uFE0F', '❤\uFE0F'],
    ['a heart without it', '❤', '❤\uFE0F'],
    ['a heart in text style', '❤\uFE0E', '❤\uFE0F'],
    ['a thumb', '👍', '👍'],
    ['a thumb with a needless selector', '👍\uFE0F', '👍'],
    ['a thumb with a skin tone', '👍🏽', '👍🏽'],
    ['a family', '👨‍👩‍👧', '👨‍👩‍👧'],
    ['the rainbow flag', '🏳\uFE0F‍🌈', '🏳\uFE0F‍🌈'],
    ['the rainbow flag without its selector', '🏳‍🌈', '🏳\uFE0F‍🌈'],
    ['a country', '🇨🇭', '🇨🇭'],
    [
      'a part of a country',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    ],
    ['a keycap', '#\uFE0F\u20E3', '#\uFE0F\u20E3'],
    ['a keycap without its selector', '5\u20E3', '5\uFE0F\u20E3'],
    ['a sign', '©\uFE0F', '©\uFE0F'],
    ['a sign without its selector', '©', '©\uFE0F'],
    ['two selectors in one', '👁\uFE0F‍🗨\uFE0F', '👁\uFE0F‍🗨\uFE0F'],
    ['two selectors in one, both left out', '👁‍🗨', '👁\uFE0F‍🗨\uFE0F'],
    ['a skin tone where a selector would stand', '🕵🏽‍♂', '🕵🏽‍♂\uFE0F'],
    ['a couple of two tones', '👩🏻‍❤‍💋‍👨🏿', '👩🏻‍❤\uFE0F‍💋‍👨🏿'],
    ['a skin tone alone', '🏽', '🏽'],
  ];
  for (const [what, text, emoji] of known)
    it(`${what} is ${emoji}`, () => expect(readEmoji(text)).to.deep.equal({ identity: bare(emoji), emoji }));

  it('skin tones, flags and joined emoji are each their own', () => {
    const texts = ['👍', ...range(0x1f3fb, 0x1f3ff).map((tone) => `👍${tone}`), '🇨🇭', '🇨🇦', '🏳', '🏳‍🌈', '👨', '👨‍👩‍👧'];
    expect(new Set(texts.map((text) => readEmoji(text)?.identity)).size).to.equal(texts.length);
  });

  it('every emoji of Unicode is one with its selectors and without, and no two are the same', () => {
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

  it('a custom one is its id, whatever its name', () => {
    expect(readEmoji('party_1:123')).to.deep.equal({ identity: '123', emoji: 'party_1:123' });
    expect(readEmoji(`${'a'.repeat(32)}:${'9'.repeat(19)}`)?.identity).to.equal('9'.repeat(19));
  });

  const none: [what: string, text: string][] = [
    ['nothing', ''],
    ['blanks', '  '],
    ['a letter', 'a'],
    ['a word', 'thumbsup'],
    ['a digit', '5'],
    ['a digit with a selector', '5\uFE0F'],
    ['a number sign', '#'],
    ['two emoji', '👍👍'],
    ['two keycaps', '1\uFE0F\u20E32\uFE0F\u20E3'],
    ['an emoji and a letter', '👍a'],
    ['an emoji and a blank', '👍 '],
    ['an emoji and a line break', '👍\n'],
    ['a selector alone', '\uFE0F'],
    ['a selector in front', '\uFE0F👍'],
    ['two selectors', '❤\uFE0F\uFE0F'],
    ['a joiner alone', '\u200D'],
    ['an emoji that is joined to nothing', '👍\u200D'],
    ['half a country', '🇨'],
    ['a country that is none', '🇽🇽'],
    ['half a character', '\uD83D'],
    ['a percent code', '%F0%9F%91%8D'],
    ['a very long text', '👍'.repeat(10_000)],
    ['a custom one without its name', ':1'],
    ['a custom one without its id', 'a:'],
    ['a custom one in angle brackets', '<:a:1>'],
    ['an animated one', 'a:b:1'],
    ['a custom name of 33 characters', `${'a'.repeat(33)}:1`],
    ['a custom id of 20 digits', `a:${'1'.repeat(20)}`],
    ['a custom id that is no number', 'a:1x'],
    ['a custom name with a blank', 'a b:1'],
    ['a custom name in other letters', 'é:1'],
    ['a custom id in other digits', 'a:١'],
    ['a custom one and a line break', 'a:1\n'],
  ];
  for (const [what, text] of none) it(`${what} is none`, () => expect(readEmoji(text)).to.equal(null));
});
