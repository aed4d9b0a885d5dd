import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import { makeChannel } from '../../harness/factories.ts';
import { inParallel, refused } from '../../harness/requests.ts';
import { emoji, useMessages } from './message-fixture.ts';

const letters = (count: number): string => 'x'.repeat(count);
const fields = (count: number): object[] => Array.from({ length: count }, () => ({ name: 'n', value: 'v' }));
const link = (length: number): string => `https://example.org/${letters(length - 20)}`;

describe('lengths and text of messages', () => {
  const { api, owner, server, bot, path, post, edit, read } = useMessages();

  const expectAccepted = async (body: object): Promise<Message> => {
    const { nonce: _, ...made } = await post(body);
    expect(await read(made.id, owner)).to.deep.equal(made);
    return made;
  };
  const expectRefused = async (body: object, at?: string): Promise<void> => {
    const { errors } = await refused(api, [400, 'invalid_request'], bot, 'POST', path(), body);
    if (at) expect(errors?.map((one) => one.path)).to.include(at);
  };

  it('201 with the whole message; the nonce is only in this response', async () => {
    const message = await post({ content: 'hello', nonce: 'n-1' });
    expect(message).to.deep.include({ content: 'hello', nonce: 'n-1', editedAt: null, replyDeleted: false, mentionEveryone: false });
    expect(message.author).to.deep.include({ id: bot.id, tag: 'bot' });
    expect(message).to.not.have.property('serverId');
    expect(await read(message.id)).to.not.have.property('nonce');
    expect((await post({ content: 'hello', nonce: 'n-1' })).id, 'another message with this nonce').to.not.equal(message.id);
  });

  it('ids increase with every post, also with 40 parallel posts', async () => {
    const ids = (await inParallel(40, (n) => post(`at once ${n}`))).map(({ id }) => id);
    expect(new Set(ids).size).to.equal(40);
    const later = await post('later');
    expect(ids.every((id) => id < later.id)).to.equal(true);
  });

  it('400 for a post and a list in a category or voice channel', async () => {
    for (const kind of ['category', 'voice'] as const) {
      const to = `/api/channels/${(await makeChannel(api, owner, server.id, { kind })).id}/messages`;
      await refused(api, [400, 'invalid_request'], bot, 'POST', to, { content: 'x' });
      await refused(api, [400, 'invalid_request'], bot, 'GET', to);
    }
  });

  describe('lengths in code points', () => {
    for (const [what, body] of [
      ['2,000 letters', { content: letters(2000) }],
      ['2,000 emoji of two units', { content: emoji(2000) }],
      ['2,000 combining marks', { content: '\u0301'.repeat(1999).padStart(2000, 'a') }],
      ['500 sequences of 3 code points, and 500 letters', { content: '👨‍👩'.repeat(500).concat(letters(500)) }],
      ['leading and trailing spaces, which count', { content: ` ${letters(1998)} ` }],
      ['a nonce of 64 emoji', { content: 'x', nonce: emoji(64) }],
      ['an empty nonce', { content: 'x', nonce: '' }],
    ] as const)
      it(`201 with ${what}, stored as typed`, async () => expect((await expectAccepted(body)).content).to.equal(body.content));
    for (const [what, body, at] of [
      ['2,001 letters', { content: letters(2001) }, '/content'],
      ['2,001 emoji', { content: emoji(2001) }, '/content'],
      ['2,001 with spaces at the end', { content: `${letters(2000)} ` }, '/content'],
      ['a nonce of 65 emoji', { content: 'x', nonce: emoji(65) }, '/nonce'],
      ['a number as nonce', { content: 'x', nonce: 5 }, '/nonce'],
      ['a number as content', { content: 5 }, '/content'],
      ['null as content', { content: null }, '/content'],
      ['no content', {}, undefined],
      ['empty content and no embeds', { content: '', embeds: [] }, undefined],
    ] as const)
      it(`400 for ${what}`, () => expectRefused(body, at));

    it('the preview of a reply has at most 200 code points and splits no surrogate pair', async () => {
      for (const [content, shown] of [
        [emoji(200), emoji(200)],
        [emoji(201), emoji(200)],
        [`a${emoji(300)}`, `a${emoji(199)}`],
        [letters(200), letters(200)],
        [letters(201), letters(200)],
      ] as const) {
        const reply = await post({ content: 'r', replyTo: (await post(content)).id });
        expect(reply.reply?.content).to.equal(shown);
        expect((await read(reply.id, owner)).reply?.content).to.equal(shown);
      }
    });
  });

  describe('lone surrogates, NUL and other unusual text', () => {
    for (const [what, content, stored] of [
      ['a lone high surrogate', 'a\ud83d', 'a\ufffd'],
      ['a lone low surrogate', '\ude00b', '\ufffdb'],
      ['surrogates in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
      ['NUL characters', 'a\0b\0', 'a\0b\0'],
      ['control characters', 'a\u0007\u001b[31m', 'a\u0007\u001b[31m'],
      ['text from right to left', '\u202eabc', '\u202eabc'],
      ['text that looks like an operator', '$where', '$where'],
      ['text that looks like a variable', '$$NOW', '$$NOW'],
      ['text that looks like JSON', '{"$gt":""}', '{"$gt":""}'],
      ['line ends', 'a\r\nb\u2028c', 'a\r\nb\u2028c'],
    ] as const)
      it(`${what}: a post, an edit and every read show the same`, async () => {
        expect((await expectAccepted({ content })).content).to.equal(stored);
        const { id } = await post('x');
        expect((await edit(id, { content })).content).to.equal(stored);
        expect((await read(id, owner)).content).to.equal(stored);
        const embed = await expectAccepted({
          embeds: [{ title: content, fields: [{ name: content, value: content }], author: { name: content } }],
        });
        expect(embed.embeds[0]?.title).to.equal(stored);
      });
  });

  describe('text without a visible character', () => {
    const blanks: [what: string, content: string][] = [
      ['spaces of all kinds', ' \t\n\r\v\f\u00a0\u1680\u2000\u2003\u200a\u202f\u205f\u3000\ufeff'],
      ['line and paragraph separators', '\u2028\u2029'],
      ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
      ['direction marks', '\u200e\u200f\u202a\u202e\u2066\u2069\u061c'],
      ['soft hyphens', '\u00ad'],
      ['variation selectors', '\ufe0f\ufe0e'],
      ['Hangul fillers and Braille blanks', '\u115f\u1160\u3164\uffa0\u2800'],
      ['control characters and NUL', '\0\u0001\u007f\u0085'],
      ['tag characters', '\u{e0020}\u{e007f}'],
    ];
    for (const [what, content] of blanks) {
      it(`400 for ${what}; 201 together with an embed`, async () => {
        await expectRefused({ content });
        await expectRefused({ content, embeds: [] });
        expect((await expectAccepted({ content, embeds: [{ title: 't' }] })).content).to.equal(content);
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
      it(`201 for ${JSON.stringify(content)}`, () => expectAccepted({ content }));
  });

  describe('limits of embeds', () => {
    const limits: [what: string, at: string, embed: (over: number) => object][] = [
      ['title 256', '/title', (n) => ({ title: emoji(256 + n) })],
      ['description 4,096', '/description', (n) => ({ description: emoji(4096 + n) })],
      ['author 256', '/author/name', (n) => ({ author: { name: emoji(256 + n) } })],
      ['footer 2,048', '/footer/text', (n) => ({ footer: { text: emoji(2048 + n) } })],
      ['field name 256', '/fields/0/name', (n) => ({ fields: [{ name: emoji(256 + n), value: 'v' }] })],
      ['field value 1,024', '/fields/0/value', (n) => ({ fields: [{ name: 'n', value: emoji(1024 + n) }] })],
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
        (n) => ({ title: emoji(256), description: letters(4096), footer: { text: emoji(1392 + n) }, author: { name: letters(256) } }),
      ],
      [
        '6,000 in all with fields',
        '',
        (n) => ({
          description: letters(875 + n),
          fields: Array.from({ length: 5 }, () => ({ name: letters(1), value: emoji(1024) })),
          url: link(2000),
        }),
      ],
    ];
    for (const [what, at, embed] of limits)
      it(`${what}: 201 at the limit, 400 above it`, async () => {
        await expectAccepted({ embeds: [{ title: 'before' }, embed(0)] });
        await expectRefused({ embeds: [{ title: 'before' }, embed(1)] }, `/embeds/1${at}`);
      });
    it('10 embeds of 6,000 characters 201, 11 embeds 400', async () => {
      const big = { description: letters(4000), footer: { text: letters(2000) } };
      const embeds = (count: number): object[] => Array.from({ length: count }, () => big);
      await expectAccepted({ embeds: embeds(10) });
      await expectRefused({ embeds: embeds(11) }, '/embeds');
    });
  });
});
