import { expect } from 'chai';
import type { Route } from '../../../apps/api/route.ts';
import { routes } from '../../../apps/api/routes/index.ts';
import type { Answer } from '../../harness/api.ts';
import { grantTypes } from '../../harness/factories.ts';
import { fillPath, nameOf } from '../../harness/route-samples.ts';
import { surface } from '../../house/surface.ts';
import { type Role, roles } from './roles.ts';
import { type Call, keyOf, type Row } from './row.ts';
import { applicationRows, interactionRows } from './rows-applications.ts';
import { channelRows } from './rows-channels.ts';
import { deliveryRows } from './rows-deliveries.ts';
import { messageRows, strangersRows } from './rows-messages.ts';
import { peopleRows } from './rows-people.ts';
import { serverRows } from './rows-servers.ts';
import { singleWebhookRows, webhookRows } from './rows-webhooks.ts';
import { type Stage, startStage } from './stage.ts';

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

/** What a role is told by a row's rules, or the row's status. */
const expected = ({ who, status }: Row, role: Role): string => {
  for (const rule of who) {
    const refusal = rule(role);
    if (refusal !== null) return refusal;
  }
  return String(status);
};

/** What a refusal says. */
type Told = { code?: string; missing?: string[] } | undefined;

describe('route × role', () => {
  let stage: Stage;

  before(async function () {
    this.timeout(180_000);
    stage = await startStage();
  });
  after(() => stage.close());

  /** Sends a body as it is. */
  const sendRaw = async (
    method: string,
    path: string,
    { as, headers, body }: { as: string; headers: object; body: Buffer },
  ): Promise<Pick<Answer<Told>, 'status' | 'body'>> => {
    const authorization = as ? { Authorization: as } : {};
    const response = await fetch(stage.api.url + path, { method, headers: { ...headers, ...authorization }, body: new Uint8Array(body) });
    return { status: response.status, body: (await response.json()) as Told };
  };

  /** Calls a route as a role, and answers the cell: the status, and what a refusal says. */
  const cell = async (route: Route, { at = [], body, headers, as }: Call, role: Role): Promise<string> => {
    const holes = [...at];
    const path = fillPath(route.path, () => holes.shift() as string);
    const sent = { as: as ?? stage.callerOf(role.name).as, headers: headers ?? {} };
    const answer = await (body instanceof Buffer
      ? sendRaw(route.method, path, { ...sent, body })
      : stage.api.call<Told>(route.method, path, { ...sent, body }));
    if (answer.status < 400) return String(answer.status);
    const { code = '(no code)', missing } = answer.body ?? {};
    return `${answer.status} ${code}${missing ? `: ${missing.join(', ')}` : ''}`;
  };

  /** The whole row: first all who are refused, at one target unless it is each one's own, which together change nothing; then who may, each at a new one. */
  const play = async (route: Route, row: Row): Promise<Record<string, string>> => {
    const callFor = async (role: Role): Promise<Call> => row.call(stage, stage.callerOf(role.name));
    const refused = roles.filter((role) => expected(row, role) !== String(row.status));
    const shared = row.own || !refused[0] ? null : await callFor(refused[0]);
    const calls = await Promise.all(refused.map(async (role) => shared ?? callFor(role)));
    const before = await stage.snapshot();
    const cells = await Promise.all(refused.map((role, at) => cell(route, calls[at] as Call, role)));
    const told: Record<string, string> = Object.fromEntries(refused.map((role, at) => [role.name, cells[at] as string]));
    const wrong = Object.values(told).filter((one) => !one.startsWith('4'));
    if (route.method !== 'GET' && wrong.length === 0) expect(await stage.snapshot(), 'what refused calls changed').to.deep.equal(before);
    const allowed = roles.filter((role) => !(role.name in told));
    const answers = await Promise.all(allowed.map(async (role) => cell(route, await callFor(role), role)));
    allowed.forEach((role, at) => {
      told[role.name] = answers[at] as string;
    });
    return told;
  };

  for (const route of routes) {
    const mine = rows.filter((row) => keyOf(row.route) === keyOf(nameOf(route)));
    if (mine.length === 0) it(`${nameOf(route)} has a row`, () => expect.fail('no row of the matrix says who may call it'));
    for (const row of mine)
      it(`${nameOf(route)}${row.case ? `, ${row.case}` : ''}`, async () => {
        if (row.types) await grantTypes(stage.api, stage.serverId, row.types);
        try {
          const wanted = Object.fromEntries(roles.map((role) => [role.name, expected(row, role)]));
          expect(await play(route, row)).to.deep.equal(wanted);
        } finally {
          if (row.types) await grantTypes(stage.api, stage.serverId, []);
        }
      });
  }

  it('every row is of a route that is promised', () => {
    const promised = new Set(surface.map((one) => keyOf(`${one.method} ${one.path}`)));
    expect(rows.map((row) => keyOf(row.route)).filter((key) => !promised.has(key))).to.deep.equal([]);
  });
});
