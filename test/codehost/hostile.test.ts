import { expect } from 'chai';
import fc from 'fast-check';
import { findMentions, parseMarkup } from '../../lib/base/markup.ts';
import { countCodePoints } from '../../lib/base/text.ts';
import type { Embed } from '../../lib/contract/embed.ts';
import { parseDelivery } from '../../lib/domain/webhooks/codehost/index.ts';
import { embedOf } from './golden.ts';
import { samples } from './samples.ts';

const words = 'refs/heads/ main opened closed created published completed submitted approved success branch tag'.split(' ');
const pieces = fc.constantFrom(
  ...'\\ ` ``` * ** __ ~~ || < > <@1000000000000000001> <@&1000000000000000001> <:a:1000000000000000001> @everyone @here @ everyone'.split(
    ' ',
  ),
  ...'http : // https://x.example <https://x.example> [a](https://x.example) # ( ] <!-- --> refs/tags/ … x 😀'.split(' '),
  ...'\n,\r\n, ,\u2028,\u202e,\u0000,\ud800,\udc00'.split(','),
);
const hostile = fc
  .tuple(
    fc.array(fc.oneof({ weight: 6, arbitrary: pieces }, fc.string({ unit: 'binary' })), { maxLength: 12 }),
    fc.constantFrom(1, 1, 1, 40, 900),
  )
  .map(([parts, times]) => parts.join('').repeat(times));

/** Fields that decide what is posted; they are not replaced. */
const kept = new Set(['action', 'ref_type', 'state', 'conclusion', 'before', 'after']);
const isLink = (key: string): boolean => key === 'compare' || key.endsWith('url');

/** Returns `payload` with every string replaced: texts by the next of `texts`, links by the next of `links`. */
function replaced(payload: unknown, texts: readonly string[], links: readonly string[]): unknown {
  let nextIndex = 0;
  const next = (from: readonly string[]): string => from[nextIndex++ % from.length] ?? '';
  const walk = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => walk(one, key));
    if (value !== null && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, name)]));
    if (typeof value !== 'string' || kept.has(key)) return value;
    if (isLink(key)) return links.length ? next(links) : value;
    return value.startsWith('refs/heads/') ? `refs/heads/${next(texts)}` : next(texts);
  };
  return walk(payload, '');
}

const textsOf = ({ title, description, author, footer }: Embed): string[] =>
  [title, description, author?.name, footer?.text].filter((text) => text !== undefined);
const linksOf = ({ url, author }: Embed): string[] => [url, author?.url, author?.iconUrl].filter((link) => link !== undefined);

/** Returns the links in a text. Everything else in it must be plain text or a short commit id. */
function inlineLinks(text: string): string[] {
  const found: string[] = [];
  for (const token of parseMarkup(text)) {
    if (token.type === 'link' && !token.preview) found.push(token.url);
    else if (token.type === 'code') expect(token.text).to.match(/^[0-9a-f]{7}$/);
    else expect(token.type, text).to.equal('text');
  }
  return found;
}

/** Checks that an embed pings nobody and has no formatting, and that its texts are well-formed and short. Returns its links. */
function checkPlain(embed: Embed): string[] {
  const inline: string[] = [];
  for (const text of textsOf(embed)) {
    expect(findMentions(text)).to.deep.equal({ users: [], roles: [], everyone: false, here: false });
    inline.push(...inlineLinks(text));
    expect(text).not.to.match(/\p{Surrogate}|[^\P{Cc}\n]|[\u202a-\u202e]/u);
  }
  expect(textsOf(embed).reduce((sum, text) => sum + countCodePoints(text), 0)).to.be.below(5_000);
  return [...inline, ...linksOf(embed)];
}

describe('codehost: hostile payloads', () => {
  for (const [event, payload] of samples) {
    it(`${event}: shows any text as plain text`, () => {
      fc.assert(
        fc.property(fc.array(hostile, { minLength: 1, maxLength: 9 }), (texts) => {
          const given = replaced(payload, texts, []);
          if (!('facts' in parseDelivery(event, given))) return;
          const links = checkPlain(embedOf(event, given));
          for (const link of links)
            expect(link).to.match(
              /^https:\/\/(github\.com|gitea\.example|example\.org|avatars\.githubusercontent\.com|secure\.gravatar\.com)\//,
            );
        }),
        { numRuns: 150 },
      );
    });
  }

  it('links only to http and https URLs without credentials', () => {
    const address = fc.oneof(
      hostile,
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      hostile.map((text) => `https://x.example/${text}`),
      hostile.map((text) => `https://${text}@x.example/`),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(hostile, { minLength: 1, maxLength: 5 }),
        fc.array(address, { minLength: 1, maxLength: 9 }),
        ([event, payload], texts, links) => {
          const given = replaced(payload, texts, links);
          if (!('facts' in parseDelivery(event, given))) return;
          for (const link of checkPlain(embedOf(event, given))) {
            const { protocol, username, password } = new URL(link);
            expect([/^https?:$/.test(protocol), username, password]).to.deep.equal([true, '', '']);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('reads any JSON under any event name without an error', () => {
    const keys = fc.constantFrom(
      ...'action ref ref_type commits after repository sender pull_request review issue comment release workflow_run forkee'.split(' '),
      ...'hook html_url full_name title body number state conclusion login name id __proto__ constructor'.split(' '),
    );
    const { payload: any } = fc.letrec((tie) => ({
      leaf: fc.oneof(hostile, fc.constantFrom(...words), fc.double(), fc.boolean(), fc.constant(null), fc.integer()),
      list: fc.array(tie('payload'), { maxLength: 4 }),
      fields: fc.dictionary(keys, tie('payload'), { maxKeys: 9 }),
      payload: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('list'), { weight: 4, arbitrary: tie('fields') }),
    }));
    const names = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...samples.map(([event]) => event)) },
      hostile,
      fc.constantFrom('__proto__', 'toString', 'watch'),
    );
    const known = new Set(samples.map(([event]) => event));
    let posted = 0;
    fc.assert(
      fc.property(names, fc.oneof({ weight: 4, arbitrary: any }, fc.jsonValue()), (event, payload) => {
        const reading = parseDelivery(event, payload);
        expect(reading.action === null || countCodePoints(reading.action) <= 60).to.equal(true);
        if ('ignored' in reading) {
          expect(countCodePoints(reading.ignored)).to.be.within(5, 160);
          return;
        }
        posted++;
        expect(known).to.include(event);
        checkPlain(embedOf(event, payload));
      }),
      { numRuns: 800 },
    );
    expect(posted).to.be.above(20);
  });

  it('keeps the embed small when every text is very long', () => {
    for (const filler of ['😀', '*', '"', '\\', '<', 'a ', '\n.', '\u0001', '\ud800'])
      for (const [event, payload] of samples) {
        const texts = [filler.repeat(20_000)];
        const links = [`https://x.example/${'a'.repeat(380)}`];
        if ('facts' in parseDelivery(event, replaced(payload, texts, links))) checkPlain(embedOf(event, replaced(payload, texts, links)));
      }
  });

  it('reads megabytes of text in at most 200 ms of CPU time', () => {
    const huge = ['<!--', '[', '`'.repeat(4), '**', ' ', '\n', '@everyone '].map((text) => text.repeat(Math.ceil(5_000_000 / text.length)));
    const began = process.cpuUsage();
    for (const [event, payload] of samples) for (const text of huge) parseDelivery(event, replaced(payload, [text], []));
    expect(process.cpuUsage(began).user / 1_000 / samples.length / huge.length, 'ms each').to.be.below(200);
  });
});
