import { expect } from 'chai';
import fc from 'fast-check';
import { codesOf } from '../../../apps/api/openapi.ts';
import type { Route } from '../../../apps/api/route.ts';
import { routes } from '../../../apps/api/routes/index.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { fillPath, holesOf, nameOf, realOf, sampleOf } from '../../harness/route-samples.ts';
import { makeWorld, type World } from '../../harness/world.ts';

const malformed = ['x', '1', '-1', '0x1', '1e18', '%00', '%zz', '%ff%fe', '..%2f..%2f', '%24where', '[object%20Object]', '9'.repeat(20)];
const withHoles = routes.filter((route) => holesOf(route.path).length > 0);
const withBody = routes.filter((route) => route.body);
/** Holes that name no thing by an id: what stands there can be wrong in its own way. */
const freeHoles = new Set(['emoji']);

/** Random text for a path, also with broken percent codes. */
const segment = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }).map(encodeURIComponent),
  fc.string({ unit: fc.constantFrom('%', '0', 'f', 'F', '2', 'e', '.', '$', '{', '}', ':', '*', '(', ')', '\\', '|'), minLength: 1 }),
);

describe('hostile input', () => {
  let api: TestApi;
  let world: World;
  let owner: string;
  /** What the world has not. */
  let more: Record<string, string>;

  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    owner = `Bearer ${world.ownerToken}`;
    const make = async (method: string, path: string, body: unknown): Promise<Record<string, unknown>> => {
      const answer = await api.call(method, path, { as: owner, body });
      expect(answer.status, path).to.be.within(200, 201);
      return answer.body;
    };
    const message = await make('POST', `/api/channels/${world.channelIds[0]}/messages`, { content: 'here' });
    const [command] = Object.values(
      await make('PUT', `/api/applications/${world.bots[0]?.applicationId}/commands`, [{ name: 'hello', description: 'Says hello' }]),
    ) as { id: string }[];
    const webhook = await make('POST', `/api/channels/${world.channelIds[0]}/webhooks`, { name: 'hook' });
    const secret = { webhooks: String(webhook.id), '{webhook_id}': String(webhook.token) };
    more = { messages: String(message.id), commands: String(command?.id), ...secret };
  });
  after(() => api.close());

  /** What counts as the code of the one refusal that has none (docs/behavior/community.md#joining). */
  const codeOfNone = (route: Route): string | undefined =>
    nameOf(route) === 'POST /api/discovery/servers/{serverId}/join' ? 'not_found' : undefined;

  /** Calls a route; what it refuses by has to stand in its entry, as OpenAPI shows it. */
  const call = async (route: Route, path: string, body?: unknown): Promise<Answer> => {
    const as = route.auth === 'none' ? undefined : owner;
    const answer = await api.call(route.method, path, { as, ...(body === undefined ? {} : { body }) });
    const known: readonly unknown[] = [...codesOf(route), 'method_not_allowed']; // a text such as .. leads to another path
    const code = answer.body?.code ?? codeOfNone(route);
    if (answer.status >= 400 && answer.status < 500) expect(known, JSON.stringify(answer.body)).to.include(code);
    return answer;
  };

  /** What stands in the database, apart from what a request may always leave: nothing. */
  const snapshot = async (): Promise<string> => {
    const { db } = api.platform;
    const models = [db.accounts, db.tokens, db.applications, db.servers, db.channels, db.members, db.bans, db.invites, db.audit];
    const found = [...models, db.messages, db.commands, db.interactions, db.webhooks].map((model) =>
      model.collection.find({}).sort({ _id: 1 }).toArray(),
    );
    return JSON.stringify(await Promise.all(found));
  };

  describe('ids in paths', () => {
    for (const route of withHoles)
      it(`${nameOf(route)}: 404 for what is no id, in each hole`, async () => {
        const body = route.body && sampleOf(route.body);
        const before = await snapshot();
        for (const wrong of holesOf(route.path).filter((hole) => !freeHoles.has(hole)))
          for (const text of malformed) {
            const path = fillPath(route.path, (hole, place) => (hole === wrong ? text : realOf(world, hole, place, more)));
            const { status, body: answer } = await call(route, path, body);
            expect([status, answer?.code ?? codeOfNone(route)], `${path} ${JSON.stringify(answer)}`).to.deep.equal([404, 'not_found']);
          }
        expect(await snapshot()).to.equal(before);
      });

    for (const route of withHoles)
      it(`${nameOf(route)}: any text in any hole is a 4xx and changes nothing`, async () => {
        const body = route.body && sampleOf(route.body);
        const before = await snapshot();
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
        expect(await snapshot()).to.equal(before);
      });
  });

  describe('bodies', () => {
    /** Any JSON, or a body that fits but for one field. */
    const bodyFor = (route: Route): fc.Arbitrary<unknown> => {
      const fits = sampleOf(route.body as NonNullable<Route['body']>, true);
      if (typeof fits !== 'object' || fits === null || Array.isArray(fits) || Object.keys(fits).length === 0) return fc.jsonValue();
      const field = fc.constantFrom(...Object.keys(fits));
      return fc.oneof(
        fc.jsonValue(),
        fc.tuple(field, fc.jsonValue()).map(([name, value]) => ({ ...fits, [name]: value })),
        fc.tuple(field, fc.string({ unit: 'binary' })).map(([name, value]) => ({ ...fits, [name]: value })),
        fc
          .tuple(field, fc.constantFrom({ $gt: '' }, { $where: '1' }, ['$$NOW'], '$$NOW'))
          .map(([name, value]) => ({ ...fits, [name]: value })),
      );
    };

    for (const route of withBody)
      it(`${nameOf(route)}: no JSON at all gives a 5xx, and a refusal changes nothing`, async () => {
        let before = await snapshot();
        await fc.assert(
          fc.asyncProperty(bodyFor(route), async (body) => {
            const path = fillPath(route.path, (hole, place) => realOf(world, hole, place, more));
            const { status, body: answer } = await call(route, path, JSON.stringify(body));
            expect(status, JSON.stringify(answer)).to.be.lessThan(500);
            const now = await snapshot();
            if (status >= 400) expect(now).to.equal(before);
            before = now;
          }),
          { numRuns: 20 },
        );
      }).timeout(180_000);
  });
});
