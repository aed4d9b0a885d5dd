import { expect } from 'chai';
import fc from 'fast-check';
import { checkEmbeds } from '../../lib/domain/messages/draft.ts';
import { issue, useDeliveries } from './fixture.ts';

const known = [
  'ping',
  'push',
  'pull_request',
  'pull_request_review',
  'issues',
  'issue_comment',
  'release',
  'workflow_run',
  'create',
  'star',
];
/** Any event name that a header can carry. */
const eventName = fc.oneof(
  fc.constantFrom(...known),
  fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 1, maxLength: 80 }),
);

const pings = '@everyone @here <@1000000000000000001> <@&1000000000000000001>';
/** Hostile texts. */
const hostile = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(pings), fc.constant(`[x](javascript:1) ${pings}`.repeat(200)));
/** Realistic payloads by event. */
const real: Record<string, object> = {
  issues: issue(1),
  push: {
    ref: 'refs/heads/main',
    after: 'a'.repeat(40),
    commits: [{ id: 'b'.repeat(40), message: pings, author: { name: pings }, url: 'https://code.example/c' }],
    compare: 'https://code.example/compare/a...b',
    repository: { full_name: 'o/r' },
    sender: { login: 'sam' },
  },
  release: { action: 'published', release: { tag_name: 'v1', name: pings, body: pings, html_url: 'https://code.example/v1' }, sender: {} },
};

/** Returns `payload` with the values at some of its fields replaced. */
function replaceFields(payload: object, changes: readonly [number, unknown][]): object {
  const copy = structuredClone(payload);
  const fields: [Record<string, unknown>, string][] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const key of Object.keys(value)) {
      fields.push([value as Record<string, unknown>, key]);
      walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(copy);
  for (const [at, value] of changes) {
    const [holder, key] = fields[at % fields.length] as [Record<string, unknown>, string];
    holder[key] = value;
  }
  return copy;
}

const changes = fc.array(fc.tuple(fc.nat(40), fc.oneof(fc.jsonValue(), hostile)), { maxLength: 3 });
const delivery = fc.oneof(
  fc.tuple(eventName, fc.jsonValue()),
  fc
    .tuple(fc.constantFrom(...Object.keys(real)), changes)
    .map(([event, fields]): [string, unknown] => [event, replaceFields(real[event] as object, fields)]),
);

describe('Code host deliveries: any payload', () => {
  const { hook } = useDeliveries(2);

  it('answers 202 or 204 to any JSON under any event; every post is a valid embed and pings nobody', async () => {
    await fc.assert(
      fc.asyncProperty(delivery, fc.boolean(), async ([event, payload], asForm) => {
        const text = JSON.stringify(payload);
        const { status, body } = asForm
          ? await hook.deliver(`payload=${encodeURIComponent(text)}`, {
              event,
              headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
            })
          : await hook.deliver(text, { event });
        expect([202, 204], `${event} ${text} ${JSON.stringify(body)}`).to.include(status);
      }),
      { numRuns: 100 },
    );
    await hook.runAllJobs();
    const posted = await hook.messages();
    expect(posted.length).to.be.greaterThan(10);
    for (const { embeds, content, mentions, mentionRoles, mentionEveryone, pings: pinging } of posted) {
      expect(checkEmbeds(embeds)).to.deep.equal(embeds);
      expect({ content, mentions, mentionRoles, mentionEveryone, pinging }).to.deep.equal({
        content: '',
        mentions: [],
        mentionRoles: [],
        mentionEveryone: false,
        pinging: undefined,
      });
    }
    expect((await hook.log()).filter(({ outcome }) => outcome === 'failed')).to.deep.equal([]);
  }).timeout(180_000);
});
