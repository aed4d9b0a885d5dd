import { expect } from 'chai';
import { toShownEmbed } from '../../../lib/domain/views/image-links.ts';
import { refused } from '../../harness/requests.ts';
import { useMessages } from './message-fixture.ts';

const timestamps = [
  '',
  'yesterday',
  '2024-01-01',
  '2024-01-01T00:00:00',
  '2024-02-30T00:00:00Z',
  '2024-01-01T25:00:00Z',
  '1700000000',
  '2016-12-31T23:59:60Z',
];
const urls = [
  'javascript:alert(1)',
  'JAVASCRIPT:alert(1)',
  ' https://example.org',
  'https://exa mple.org',
  'https://',
  'data:text/html,x',
  'ftp://example.org/x',
  'file:///etc/passwd',
  '//example.org',
  'example.org',
  'https:example.org',
  'java\nscript:alert(1)',
  'https://example.org\n',
  'attachment://a.png',
  '',
];

describe('embeds of messages', () => {
  const { api, bot, path, post, edit, read } = useMessages();

  const bad: [what: string, embed: unknown, at: string][] = [
    ['an empty embed', {}, ''],
    ['unknown fields only', { nope: 1, $set: { a: 1 } }, ''],
    ['an empty title', { title: '' }, ''],
    ['an empty list of fields', { fields: [] }, ''],
    ['a colour only', { color: 0xff0000 }, ''],
    ['a link only', { url: 'https://example.org' }, ''],
    ['a string', 'title', ''],
    ['null', null, ''],
    ['a list', [], ''],
    ...['title', 'description', 'url', 'color', 'timestamp', 'author', 'footer', 'image', 'thumbnail', 'fields'].map(
      (field): [string, unknown, string] => [`null as ${field}`, { title: 't', [field]: null }, `/${field}`],
    ),
    ['a number as title', { title: 5 }, '/title'],
    ['a fraction as colour', { title: 't', color: 1.5 }, '/color'],
    ['a colour below 0', { title: 't', color: -1 }, '/color'],
    ['a colour as text', { title: 't', color: '#ff0000' }, '/color'],
    ['true as colour', { title: 't', color: true }, '/color'],
    ['a field without a value', { fields: [{ name: 'n' }] }, '/fields/0/value'],
    ['a field without a name', { fields: [{ value: 'v' }] }, '/fields/0/name'],
    ['a field with an empty name', { fields: [{ name: '', value: 'v' }] }, '/fields/0/name'],
    ['a field with an empty value', { fields: [{ name: 'n', value: '' }] }, '/fields/0/value'],
    ['a field with text as inline', { fields: [{ name: 'n', value: 'v', inline: 'yes' }] }, '/fields/0/inline'],
    ['fields as an object', { title: 't', fields: { name: 'n', value: 'v' } }, '/fields'],
    ['an author without a name', { title: 't', author: { url: 'https://example.org' } }, '/author/name'],
    ['a footer without a text', { title: 't', footer: {} }, '/footer/text'],
    ['an image without a url', { image: {} }, '/image/url'],
    ['an image as text', { image: 'https://example.org/a.png' }, '/image'],
    ...timestamps.map((timestamp): [string, unknown, string] => [
      `the timestamp ${JSON.stringify(timestamp)}`,
      { title: 't', timestamp },
      '/timestamp',
    ]),
    ['a number as timestamp', { title: 't', timestamp: 1_700_000_000_000 }, '/timestamp'],
    ...urls.flatMap((url): [string, unknown, string][] => [
      [`the url ${JSON.stringify(url)}`, { title: 't', url }, '/url'],
      [`the image ${JSON.stringify(url)}`, { image: { url } }, '/image/url'],
      [`the author’s icon ${JSON.stringify(url)}`, { author: { name: 'a', iconUrl: url } }, '/author/iconUrl'],
    ]),
  ];
  for (const [what, embed, at] of bad)
    it(`400 for ${what}`, async () => {
      const { errors } = await refused(api, [400, 'invalid_request'], bot, 'POST', path(), { content: 'beside', embeds: [embed] });
      expect(errors?.map((one) => one.path)).to.include(`/embeds/0${at}`);
    });

  const good: [what: string, embed: object, known?: object][] = [
    ['a title', { title: 't' }],
    ['an image only', { image: { url: 'https://example.org/a.png' } }],
    ['a thumbnail only', { thumbnail: { url: 'http://example.org/a.png' } }],
    [
      'a field only, whose inline is false by default',
      { fields: [{ name: 'n', value: 'v' }] },
      { fields: [{ name: 'n', value: 'v', inline: false }] },
    ],
    ['colour 0', { title: 't', color: 0 }],
    ['a link in capitals', { title: 't', url: 'HTTPS://EXAMPLE.ORG/A' }],
    ['a link with characters outside of ASCII', { title: 't', url: 'https://exämple.org/ü?q=😀#x' }],
    [
      'a timestamp, converted to UTC with milliseconds',
      { title: 't', timestamp: '2024-01-01T02:00:00+02:00' },
      { title: 't', timestamp: '2024-01-01T00:00:00.000Z' },
    ],
    [
      'a timestamp with too many digits',
      { title: 't', timestamp: '2024-01-01T00:00:00.1234567Z' },
      { title: 't', timestamp: '2024-01-01T00:00:00.123Z' },
    ],
    ['a timestamp only', { timestamp: '2024-01-01T00:00:00.000Z' }],
    [
      'all fields, without the unknown ones at every depth',
      {
        title: 't',
        description: 'd',
        url: 'https://example.org',
        color: 1,
        timestamp: '2024-01-01T00:00:00.000Z',
        author: { name: 'a', url: 'https://example.org', iconUrl: 'https://example.org/i.png', evil: 1 },
        footer: { text: 'f', iconUrl: 'https://example.org/i.png' },
        image: { url: 'https://example.org/i.png', proxyUrl: 'https://evil.example/i.png', width: 1 },
        thumbnail: { url: 'https://example.org/t.png', $set: {} },
        fields: [{ name: 'n', value: 'v', inline: true, evil: 1 }],
        type: 'rich',
        video: { url: 'https://example.org/v.mp4' },
      },
      {
        title: 't',
        description: 'd',
        url: 'https://example.org',
        color: 1,
        timestamp: '2024-01-01T00:00:00.000Z',
        author: { name: 'a', url: 'https://example.org', iconUrl: 'https://example.org/i.png' },
        footer: { text: 'f' },
        image: { url: 'https://example.org/i.png' },
        thumbnail: { url: 'https://example.org/t.png' },
        fields: [{ name: 'n', value: 'v', inline: true }],
      },
    ],
    [
      'text that looks like an operator',
      { title: '$set', fields: [{ name: '$$NOW', value: '$title' }] },
      { title: '$set', fields: [{ name: '$$NOW', value: '$title', inline: false }] },
    ],
  ];
  for (const [what, embed, known = embed] of good)
    it(`201 with ${what}: the response, a read and an edit show the same embed`, async () => {
      const embeds = [toShownEmbed(api.platform.config, known)];
      const made = await post({ embeds: [embed] });
      expect(made.embeds).to.deep.equal(embeds);
      expect((await read(made.id)).embeds).to.deep.equal(embeds);
      const { id } = await post('x');
      expect((await edit(id, { embeds: [embed] })).embeds).to.deep.equal(embeds);
      expect(await edit(id, { content: 'y' })).to.deep.include({ content: 'y', embeds });
    });

  it('PATCH refuses the same embeds, and the message does not change', async () => {
    const made = await post({ content: 'kept', embeds: [{ title: 'kept' }] });
    for (const [, embed] of bad)
      await refused(api, [400, 'invalid_request'], bot, 'PATCH', path(made.id), { content: 'x', embeds: [embed] });
    expect(await read(made.id)).to.deep.equal(made);
  });
});
