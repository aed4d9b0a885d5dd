import { expect } from 'chai';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { listErrorCodes } from '../../../apps/api/documents/openapi-errors.ts';
import type { Route } from '../../../apps/api/route.ts';
import { routes } from '../../../apps/api/routes/index.ts';
import { withSharedFields } from '../../../lib/store/mongo/database.ts';
import { type Answer } from '../../harness/api.ts';
import { fillPath, holesOf, nameOf, realOf, sampleOf } from '../../harness/route-samples.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { createSnapshots } from '../../harness/snapshots.ts';
import { make, use } from '../../harness/use.ts';

const malformed = ['x', '1', '-1', '0x1', '1e18', '%00', '%zz', '%ff%fe', '..%2f..%2f', '%24where', '[object%20Object]', '9'.repeat(20)];
const withParameters = routes.filter((route) => holesOf(route.path).length > 0);
const withBody = routes.filter((route) => route.body?.schema);
/** Path parameters that are not ids. */
const otherParameters = new Set(['emoji']);

/** Random text for a path, also with invalid percent-encoding. */
const segment = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }).map(encodeURIComponent),
  fc.string({ unit: fc.constantFrom('%', '0', 'f', 'F', '2', 'e', '.', '$', '{', '}', ':', '*', '(', ')', '\\', '|'), minLength: 1 }),
);

describe('hostile input', () => {
  const api = use(startSeededApi);
  const owner = (): string => `Bearer ${api.seeded.ownerToken}`;
  /** Ids of objects that the seeded server does not have, by the path segment before them. */
  const more: Record<string, string> = make(async () => {
    const { bots, channelIds } = api.seeded;
    const create = async (method: string, path: string, input: unknown): Promise<Record<string, unknown>> => {
      const { status, body } = await api.call(method, path, { as: owner(), body: input });
      expect(status, path).to.be.within(200, 201);
      return body;
    };
    const message = await create('POST', api.path, { content: 'here' });
    const commands = await create('PUT', `/api/applications/${bots[0]?.applicationId}/commands`, [
      { name: 'hello', description: 'Says hello' },
    ]);
    const [command] = Object.values(commands) as { id: string }[];
    const webhook = await create('POST', `/api/channels/${channelIds[0]}/webhooks`, { name: 'hook' });
    const secret = { webhooks: String(webhook.id), '{webhookId}': String(webhook.token) };
    return { messages: String(message.id), commands: String(command?.id), ...secret };
  });

  /** The code to expect for the one refusal without a code (docs/behavior/community.md#joining). */
  const missingCodeOf = (route: Route): string | undefined =>
    nameOf(route) === 'POST /api/discovery/servers/{serverId}/join' ? 'not_found' : undefined;

  /** Calls a route, and expects that the error code of a refusal is one that OpenAPI lists for the route. */
  const call = async (route: Route, path: string, body?: unknown): Promise<Answer> => {
    const as = route.auth === 'none' ? undefined : owner();
    const answer = await api.call(route.method, path, { as, ...(body === undefined ? {} : { body }) });
    const known: readonly unknown[] = [...listErrorCodes(route), 'method_not_allowed']; // text such as .. leads to another path
    const code = answer.body?.code ?? missingCodeOf(route);
    if (answer.status >= 400 && answer.status < 500) expect(known, JSON.stringify(answer.body)).to.include(code);
    return answer;
  };

  /** Reads all documents that a refused request must not change. */
  const snapshots = make(async () => {
    const { db } = api.platform;
    const models = [db.accounts, db.tokens, db.applications, db.servers, db.channels, db.members, db.bans, db.invites, db.audit];
    const all = [...models, db.messages, db.commands, db.interactions, db.webhooks];
    return { read: createSnapshots(all.map((one) => withSharedFields(one))) };
  });

  describe('ids in paths', () => {
    for (const route of withParameters)
      it(`${nameOf(route)}: 404 for a malformed id in each parameter`, async () => {
        const body = route.body?.schema && sampleOf(route.body.schema);
        const before = await snapshots.read();
        for (const wrong of holesOf(route.path).filter((name) => !otherParameters.has(name)))
          for (const text of malformed) {
            const path = fillPath(route.path, (name, parent) => (name === wrong ? text : realOf(api.seeded, name, parent, more)));
            const { status, body: answer } = await call(route, path, body);
            expect([status, answer?.code ?? missingCodeOf(route)], `${path} ${JSON.stringify(answer)}`).to.deep.equal([404, 'not_found']);
          }
        expect(await snapshots.read()).to.deep.equal(before);
      });

    for (const route of withParameters)
      it(`${nameOf(route)}: 4xx for any text in the parameters, and nothing changes`, async () => {
        const body = route.body?.schema && sampleOf(route.body.schema);
        const before = await snapshots.read();
        const all = fc.tuple(...holesOf(route.path).map(() => segment));
        await fc.assert(
          fc.asyncProperty(all, async (texts) => {
            let at = 0;
            const { status } = await call(
              route,
              fillPath(route.path, () => texts[at++] as string),
              body,
            );
            expect(status).to.be.within(400, 499);
          }),
          { numRuns: 12 },
        );
        expect(await snapshots.read()).to.deep.equal(before);
      });
  });

  describe('bodies', () => {
    /** Any JSON, or a valid body with one other field value. */
    const bodyFor = (route: Route): fc.Arbitrary<unknown> => {
      const valid = sampleOf(route.body?.schema as TSchema, true);
      if (typeof valid !== 'object' || valid === null || Array.isArray(valid) || Object.keys(valid).length === 0) return fc.jsonValue();
      const field = fc.constantFrom(...Object.keys(valid));
      return fc.oneof(
        fc.jsonValue(),
        fc.tuple(field, fc.jsonValue()).map(([name, value]) => ({ ...valid, [name]: value })),
        fc.tuple(field, fc.string({ unit: 'binary' })).map(([name, value]) => ({ ...valid, [name]: value })),
        fc
          .tuple(field, fc.constantFrom({ $gt: '' }, { $where: '1' }, ['$$NOW'], '$$NOW'))
          .map(([name, value]) => ({ ...valid, [name]: value })),
      );
    };

    for (const route of withBody)
      it(`${nameOf(route)}: no 5xx for any JSON, and a refusal changes nothing`, async () => {
        let before = await snapshots.read();
        await fc.assert(
          fc.asyncProperty(bodyFor(route), async (body) => {
            const path = fillPath(route.path, (name, parent) => realOf(api.seeded, name, parent, more));
            const { status, body: answer } = await call(route, path, JSON.stringify(body));
            expect(status, JSON.stringify(answer)).to.be.lessThan(500);
            const now = await snapshots.read();
            if (status >= 400) expect(now).to.deep.equal(before);
            before = now;
          }),
          { numRuns: 20 },
        );
      }).timeout(180_000);
  });
});
