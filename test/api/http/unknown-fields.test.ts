import { expect } from 'chai';
import type { Answer } from '../../harness/api.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { use } from '../../harness/use.ts';

describe('unknown fields and query parameters', () => {
  const api = use(startSeededApi);
  const warningsOf = ({ headers }: Answer): string | null => headers.get('Warnings');
  const post = (body: unknown, query = '', headers: Record<string, string> = {}): Promise<Answer> =>
    api.call('POST', api.path + query, { as: api.as, body, headers });

  for (const [what, status, body, query, expected] of [
    ['none', 201, { content: 'x', embeds: [{ title: 't', footer: { text: 'f' } }], nonce: '1', replyTo: null }, '', null],
    ['a field of the body', 201, { content: 'x', contnet: 'y' }, '', 'unknown field /contnet'],
    [
      'fields at any depth',
      201,
      { embeds: [{ title: 'a' }, { title: 'b', titel: 'c', footer: { text: 'd', icon: 'e' } }] },
      '',
      'unknown field /embeds/1/titel; unknown field /embeds/1/footer/icon',
    ],
    ['a query parameter of a route without parameters', 201, { content: 'x' }, '?wait=true', 'unknown query parameter wait'],
    [
      'a parameter and a field',
      201,
      { content: 'x', tts: false },
      '?a=1&b=2',
      'unknown query parameter a; unknown query parameter b; unknown field /tts',
    ],
    ['a field of a body with a fault', 400, { content: 7, tts: false }, '', 'unknown field /tts'],
    ['a field of a body that the rules refuse', 400, { content: ' ', tts: false }, '', 'unknown field /tts'],
    ['a hostile name', 201, { content: 'x', 'a\r\nSet-Cookie: b=c; ü': 1 }, '', 'unknown field /a%0D%0ASet-Cookie%3A%20b%3Dc%3B%20%C3%BC'],
    [
      '12 fields',
      201,
      { content: 'x', ...Object.fromEntries(Array.from('abcdefghijkl', (name) => [name, 1])) },
      '',
      `${Array.from('abcdefghij', (name) => `unknown field /${name}`).join('; ')}; and 2 more`,
    ],
  ] as const)
    it(`${what}: ${status}, ${expected === null ? 'no header' : 'the header names them'}`, async () => {
      const answer = await post(body, query);
      expect(answer.status).to.equal(status);
      expect(warningsOf(answer)).to.equal(expected);
    });

  it('a parameter of a list, also on 400, 401 and 404', async () => {
    for (const [path, as, status, headers] of [
      [`${api.path}?limitt=5`, api.as, 200, {}],
      [`${api.path}?limit=0&limitt=5`, api.as, 400, {}],
      [`${api.path}?limitt=5`, undefined, 401, {}],
      ['/api/channels/1?limitt=5', api.as, 404, {}],
      ['/api/openapi.json?limitt=5', undefined, 200, {}],
    ] as const) {
      const answer = await api.call('GET', path, { as, headers });
      expect([answer.status, warningsOf(answer)], path).to.deep.equal([status, 'unknown query parameter limitt']);
    }
  });

  it('the fields of payload_json', async () => {
    const form = new FormData();
    form.append('payload_json', JSON.stringify({ content: 'x', attachments: [] }));
    const answer = await fetch(api.url + api.path, { method: 'POST', headers: { Authorization: api.as }, body: form });
    expect([answer.status, answer.headers.get('Warnings')]).to.deep.equal([201, 'unknown field /attachments']);
  });

  it('the same on the repeated answer of an Idempotency-Key', async () => {
    const repeat = () => post({ content: 'once', contnet: 'x' }, '', { 'Idempotency-Key': 'warned' });
    const [first, second] = [await repeat(), await repeat()];
    expect(second.body.id).to.equal(first.body.id);
    expect([first, second].map(warningsOf)).to.deep.equal(Array(2).fill('unknown field /contnet'));
  });
});
