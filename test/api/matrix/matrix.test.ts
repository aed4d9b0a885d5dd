import { expect } from 'chai';
import type { Route } from '../../../apps/api/route.ts';
import { routes } from '../../../apps/api/routes/index.ts';
import type { Answer } from '../../harness/api.ts';
import { grantTypes } from '../../harness/factories.ts';
import { fillPath, nameOf } from '../../harness/route-samples.ts';
import { use } from '../../harness/use.ts';
import { startMatrixFixture } from './fixture.ts';
import { type Role, roles } from './roles.ts';
import { type Call, keyOf, type Row } from './row.ts';
import { applicationRows, interactionRows } from './rows-applications.ts';
import { channelRows } from './rows-channels.ts';
import { deliveryRows } from './rows-deliveries.ts';
import { messageRows, strangersRows } from './rows-messages.ts';
import { peopleRows } from './rows-people.ts';
import { serverRows } from './rows-servers.ts';
import { singleWebhookRows, webhookRows } from './rows-webhooks.ts';

const inChannels = [...messageRows, ...channelRows, ...interactionRows, ...webhookRows];
const rows: readonly Row[] = [
  ...inChannels,
  ...strangersRows(inChannels),
  ...serverRows,
  ...applicationRows,
  ...peopleRows,
  ...singleWebhookRows,
  ...deliveryRows,
];

/** The result that a row expects for a role: the refusal of the first rule that refuses it, or the row's status. */
const expected = ({ who, status }: Row, role: Role): string => {
  for (const rule of who) {
    const refusal = rule(role);
    if (refusal !== null) return refusal;
  }
  return String(status);
};

/** The body of a refusal. */
type ErrorBody = { code?: string; missing?: string[] } | undefined;

describe('route × role', () => {
  const fixture = use(startMatrixFixture);

  /** Sends a body of bytes. */
  const sendRaw = async (
    method: string,
    path: string,
    { as, headers, body }: { as: string; headers: object; body: Buffer },
  ): Promise<Pick<Answer<ErrorBody>, 'status' | 'body'>> => {
    const authorization = as ? { Authorization: as } : {};
    const response = await fetch(fixture.api.url + path, { method, headers: { ...headers, ...authorization }, body: new Uint8Array(body) });
    return { status: response.status, body: (await response.json()) as ErrorBody };
  };

  /** Calls a route as a role; returns the status, with the code and missing permissions of a refusal. */
  const callAs = async (route: Route, { params = [], body, headers, as }: Call, role: Role): Promise<string> => {
    const values = [...params];
    const path = fillPath(route.path, () => values.shift() as string);
    const sent = { as: as ?? fixture.callerOf(role.name).as, headers: headers ?? {} };
    const answer = await (body instanceof Buffer
      ? sendRaw(route.method, path, { ...sent, body })
      : fixture.api.call<ErrorBody>(route.method, path, { ...sent, body }));
    if (answer.status < 400) return String(answer.status);
    const { code = '(no code)', missing } = answer.body ?? {};
    return `${answer.status} ${code}${missing ? `: ${missing.join(', ')}` : ''}`;
  };

  /**
   * The results of a row by role. Refused roles call first, with the same parameters unless these depend on the caller, and must change nothing. Then the
   * allowed roles call, each with new parameters.
   */
  const runRow = async (route: Route, row: Row): Promise<Record<string, string>> => {
    const callFor = async (role: Role): Promise<Call> => row.call(fixture, fixture.callerOf(role.name));
    const refused = roles.filter((role) => expected(row, role) !== String(row.status));
    const shared = row.perCaller || !refused[0] ? null : await callFor(refused[0]);
    const calls = await Promise.all(refused.map(async (role) => shared ?? callFor(role)));
    const before = await fixture.snapshot();
    const refusals = await Promise.all(refused.map((role, at) => callAs(route, calls[at] as Call, role)));
    const results: Record<string, string> = Object.fromEntries(refused.map((role, at) => [role.name, refusals[at] as string]));
    const wrong = Object.values(results).filter((one) => !one.startsWith('4'));
    if (route.method !== 'GET' && wrong.length === 0)
      expect(await fixture.snapshot(), 'refused calls changed the database').to.deep.equal(before);
    const allowed = roles.filter((role) => !(role.name in results));
    const answers = await Promise.all(allowed.map(async (role) => callAs(route, await callFor(role), role)));
    allowed.forEach((role, at) => {
      results[role.name] = answers[at] as string;
    });
    return results;
  };

  for (const route of routes) {
    const routeRows = rows.filter((row) => keyOf(row.route) === keyOf(nameOf(route)));
    if (routeRows.length === 0) it(`${nameOf(route)} has a row`, () => expect.fail('the matrix has no row for this route'));
    for (const row of routeRows)
      it(`${nameOf(route)}${row.case ? `, ${row.case}` : ''}`, async () => {
        if (row.types) await grantTypes(fixture.api, fixture.serverId, row.types);
        try {
          const wanted = Object.fromEntries(roles.map((role) => [role.name, expected(row, role)]));
          expect(await runRow(route, row)).to.deep.equal(wanted);
        } finally {
          if (row.types) await grantTypes(fixture.api, fixture.serverId, []);
        }
      });
  }

  it('every row belongs to a documented route', () => {
    const documented = new Set(routes.map((one) => keyOf(`${one.method} ${one.path}`)));
    expect(rows.map((row) => keyOf(row.route)).filter((key) => !documented.has(key))).to.deep.equal([]);
  });
});
