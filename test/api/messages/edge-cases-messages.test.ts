import { expect } from 'chai';
import type { TestApi } from '../../harness/api.ts';
import type { World } from '../../harness/world.ts';
import { crowd, type Failure, type MessageFixture, messageFixture, type Shown } from './message-fixture.ts';

const letters = (count: number): string => 'x'.repeat(count);
const fields = (count: number): object[] => Array.from({ length: count }, () => ({ name: 'n', value: 'v' }));
const link = (length: number): string => `https://example.org/${letters(length - 20)}`;

describe('edge cases of messages: lengths, blanks, embeds', () => {
  let api: TestApi;
  let world: World;
  let person: string;
  let path: string;
  let post: MessageFixture['post'];

  before(async () => {
    ({ api, world, person, path, post } = await messageFixture());
  });
  after(() => api.close());

  const read = async (id: string): Promise<Shown> => (await api.call<Shown>('GET', `${path}/${id}`, { as: person })).body;
  const expectTaken = async (body: object): Promise<Shown> => {
    const answer = await post(body);
    expect(answer.status, JSON.stringify(answer.body).slice(0, 300)).to.equal(201);
    const { nonce: _, ...made } = answer.body;
    expect(await read(answer.body.id)).to.deep.equal(made);
    return answer.body;
  };
  const expectRefused = async (body: object, at?: string): Promise<void> => {
    const answer = await post<Failure>(body);
    expect([answer.status, answer.body.code], JSON.stringify(answer.body).slice(0, 300)).to.deep.equal([400, 'invalid_request']);
    if (at) expect(answer.body.errors?.map((one) => one.path)).to.include(at);
  };

  describe('lengths are code points', () => {
    for (const [what, body] of [
      ['2,000 letters', { content: letters(2000) }],
      ['2,000 emoji of two units', { content: crowd(2000) }],
      ['2,000 combining marks', { content: '\u0301'.repeat(1999).padStart(2000, 'a') }],
      ['500 families of 4 code points', { content: '👨‍👩'.repeat(500).concat(letters(500)) }],
      ['spaces around, which count', { content: ` ${letters(1998)} ` }],
      ['a nonce of 64 emoji', { content: 'x', nonce: crowd(64) }],
      ['an empty nonce', { content: 'x', nonce: '' }],
    ] as const)
      it(`201 with ${what}, kept as typed`, async () => {
        const made = await expectTaken(body);
        expect(made.content).to.equal(body.content);
      });
    for (const [what, body, at] of [
      ['2,001 letters', { content: letters(2001) }, '/content'],
      ['2,001 emoji', { content: crowd(2001) }, '/content'],
      ['2,001 with spaces at the end', { content: `${letters(2000)} ` }, '/content'],
      ['a nonce of 65 emoji', { content: 'x', nonce: crowd(65) }, '/nonce'],
      ['a number as nonce', { content: 'x', nonce: 5 }, '/nonce'],
    ] as const)
      it(`400 for ${what}`, () => expectRefused(body, at));

    it('the preview of a reply is cut at 200 code points and splits no pair', async () => {
      for (const [content, shown] of [
        [crowd(200), crowd(200)],
        [crowd(201), crowd(200)],
        [`a${crowd(300)}`, `a${crowd(199)}`],
        [letters(200), letters(200)],
        [letters(201), letters(200)],
      ] as const) {
        const original = await post({ content });
        const reply = await post({ content: 'r', replyTo: original.body.id });
        expect(reply.body.reply?.content).to.equal(shown);
        expect((await read(reply.body.id)).reply?.content).to.equal(shown);
      }
    });
  });

  describe('halves of pairs, NUL and other odd text', () => {
    for (const [what, content, stored] of [
      ['a lone high surrogate', 'a\ud83d', 'a\ufffd'],
      ['a lone low surrogate', '\ude00b', '\ufffdb'],
      ['halves in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
      ['NUL characters', 'a\0b\0', 'a\0b\0'],
      ['control characters', 'a\u0007\u001b[31m', 'a\u0007\u001b[31m'],
      ['text from right to left', '\u202eabc', '\u202eabc'],
      ['what looks like an operator', '$where', '$where'],
      ['what looks like JSON', '{"$gt":""}', '{"$gt":""}'],
      ['line ends', 'a\r\nb\u2028c', 'a\r\nb\u2028c'],
    ] as const)
      it(`${what}: the 201 and each later read agree`, async () => {
        expect((await expectTaken({ content })).content).to.equal(stored);
        const original = await post({ content: 'x' });
        const edited = await api.call<Shown>('PATCH', `${path}/${original.body.id}`, {
          as: `Bot ${world.bots[0]?.token}`,
          body: { content },
        });
        expect([edited.status, edited.body.content]).to.deep.equal([200, stored]);
        expect((await read(original.body.id)).content).to.equal(stored);
        const embed = await expectTaken({
          embeds: [{ title: content, fields: [{ name: content, value: content }], author: { name: content } }],
        });
        expect(embed.embeds[0]?.title).to.equal(stored);
      });
  });

  describe('a message needs something to show', () => {
    const blanks: [what: string, content: string][] = [
      ['spaces of all kinds', ' \t\n\r\v\f\u00a0\u1680\u2000\u2003\u200a\u202f\u205f\u3000\ufeff'],
      ['line and paragraph separators', '\u2028\u2029'],
      ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
      ['marks of direction', '\u200e\u200f\u202a\u202e\u2066\u2069\u061c'],
      ['soft hyphens', '\u00ad'],
      ['variation selectors', '\ufe0f\ufe0e'],
      ['Hangul fillers and Braille blanks', '\u115f\u1160\u3164\uffa0\u2800'],
      ['control characters and NUL', '\0\u0001\u007f\u0085'],
      ['tag characters', '\u{e0020}\u{e007f}'],
    ];
    for (const [what, content] of blanks) {
      it(`400 for ${what}; 201 beside an embed`, async () => {
        await expectRefused({ content });
        await expectRefused({ content, embeds: [] });
        expect((await expectTaken({ content, embeds: [{ title: 't' }] })).content).to.equal(content);
      });
      it(`400 for an embed whose only text is ${what}`, async () => {
        for (const embed of [
          { title: content },
          { description: content },
          { author: { name: content } },
          { footer: { text: content } },
          { fields: [{ name: content, value: content }] },
        ])
          await expectRefused({ embeds: [embed] }, '/embeds/0');
      });
    }
    for (const content of ['\u200bx', '❤️', '👨‍👩‍👧', '.', '\u0301', '**', '||'])
      it(`201 for ${JSON.stringify(content)}`, () => expectTaken({ content }));
  });

  describe('embeds: bounds', () => {
    const bounds: [what: string, at: string, embed: (over: number) => object][] = [
      ['title 256', '/title', (n) => ({ title: crowd(256 + n) })],
      ['description 4,096', '/description', (n) => ({ description: crowd(4096 + n) })],
      ['author 256', '/author/name', (n) => ({ author: { name: crowd(256 + n) } })],
      ['footer 2,048', '/footer/text', (n) => ({ footer: { text: crowd(2048 + n) } })],
      ['field name 256', '/fields/0/name', (n) => ({ fields: [{ name: crowd(256 + n), value: 'v' }] })],
      ['field value 1,024', '/fields/0/value', (n) => ({ fields: [{ name: 'n', value: crowd(1024 + n) }] })],
      ['25 fields', '/fields', (n) => ({ fields: fields(25 + n) })],
      ['color 0xFFFFFF', '/color', (n) => ({ title: 't', color: 0xffffff + n })],
      ['url 2,048', '/url', (n) => ({ title: 't', url: link(2048 + n) })],
      ['author url 2,048', '/author/url', (n) => ({ author: { name: 'a', url: link(2048 + n) } })],
      ['author icon 2,048', '/author/iconUrl', (n) => ({ author: { name: 'a', iconUrl: link(2048 + n) } })],
      ['image 2,048', '/image/url', (n) => ({ image: { url: link(2048 + n) } })],
      ['thumbnail 2,048', '/thumbnail/url', (n) => ({ thumbnail: { url: link(2048 + n) } })],
      [
        '6,000 in all',
        '',
        (n) => ({ title: crowd(256), description: letters(4096), footer: { text: crowd(1392 + n) }, author: { name: letters(256) } }),
      ],
      [
        '6,000 in all with fields',
        '',
        (n) => ({
          description: letters(875 + n),
          fields: Array.from({ length: 5 }, () => ({ name: letters(1), value: crowd(1024) })),
          url: link(2000),
        }),
      ],
    ];
    for (const [what, at, embed] of bounds)
      it(`${what}: at the bound 201, one more 400`, async () => {
        await expectTaken({ embeds: [{ title: 'before' }, embed(0)] });
        await expectRefused({ embeds: [{ title: 'before' }, embed(1)] }, `/embeds/1${at}`);
      });
    it('10 embeds 201, 11 400', async () => {
      const embeds = (count: number): object[] => Array.from({ length: count }, () => ({ title: 't' }));
      await expectTaken({ embeds: embeds(10) });
      await expectRefused({ embeds: embeds(11) }, '/embeds');
    });
  });
});
