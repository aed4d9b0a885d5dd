import type { LoginCode } from '../../../lib/contract/user.ts';
import { password, word } from '../../harness/factories.ts';
import { account, anyone, needs, ownerOnly, ownsApplication, peopleOnly, refuseAll, viewers, viewingPeople } from './roles.ts';
import { type Call, type Row, row } from './row.ts';
import type { Stage } from './stage.ts';

const application = '/api/applications/{id}';
const portal = [...peopleOnly, ownsApplication(false)];
const itsOwn = ({ application: { applicationId } }: Stage): { at: string[] } => ({ at: [applicationId] });
/** One more application of the same owner, as what is done to it cannot be undone. */
const anotherOf = async (stage: Stage): Promise<Call> => ({
  at: [(await stage.ownApplication(stage.callerOf('the application’s owner'))).applicationId],
});

/** The owner's routes for an application (docs/behavior/accounts.md#applications). */
const portalRows: readonly Row[] = [
  row('POST /api/applications', peopleOnly, 201, () => ({ body: { name: word('app') } })),
  row('GET /api/applications', peopleOnly, 200, () => ({})),
  row(`GET ${application}`, portal, 200, itsOwn),
  row(`PATCH ${application}`, portal, 200, (stage) => ({ ...itsOwn(stage), body: { description: 'changed' } })),
  row(`DELETE ${application}`, portal, 204, anotherOf),
  row(`POST ${application}/token`, portal, 200, anotherOf),
  row(`POST ${application}/signing-secret`, portal, 200, anotherOf),
  row(`POST ${application}/interactions-endpoint/test`, [...portal, refuseAll('400 invalid_request')], 200, itsOwn, {
    case: 'without a saved URL',
  }),
  row(`GET ${application}/deliveries`, portal, 200, itsOwn),
];

const commands = '/api/applications/{appId}/commands';
const ofServer = '/api/applications/{appId}/servers/{serverId}/commands';
const commanding = [...account, ownsApplication(true)];
/** A command of a new server's, as replacing the list of another would take away what a role is aimed at. */
async function serverCommand(stage: Stage): Promise<Call> {
  const { applicationId, as } = stage.application;
  const serverId = await stage.server();
  await stage.bring(stage.application, serverId);
  const path = `/api/applications/${applicationId}/servers/${serverId}/commands`;
  const { body } = await stage.api.call<{ id: string }[]>('PUT', path, { as, body: [{ name: 'one', description: 'One' }] });
  return { at: [applicationId, body[0]?.id as string] };
}

/** Command lists, for the bot or the application's owner (docs/behavior/interactions.md#command-lists). */
const commandRows: readonly Row[] = [
  row(`GET ${commands}`, commanding, 200, itsOwn),
  row(`PUT ${commands}`, commanding, 200, (stage) => ({ ...itsOwn(stage), body: [{ name: 'hello', description: 'Says hello' }] })),
  row(`GET ${ofServer}`, commanding, 200, (stage) => ({ at: [stage.application.applicationId, stage.serverId] })),
  row(`PUT ${ofServer}`, commanding, 200, (stage) => ({ at: [stage.application.applicationId, stage.serverId], body: [] })),
  ...['GET', 'PUT'].map((method) =>
    row(
      `${method} ${ofServer}`,
      [...commanding, refuseAll('404 not_found')],
      200,
      async (stage) => ({ at: [stage.application.applicationId, await stage.server()], ...(method === 'PUT' ? { body: [] } : {}) }),
      { case: 'where the bot is not' },
    ),
  ),
  row(`DELETE ${commands}/{commandId}`, commanding, 204, serverCommand),
];

const wrong = 'A'.repeat(43);
const answering = '/api/interactions/{id}/{token}';
const answer = { type: 'message', content: 'hello' };

/** A route of an interaction's token: whoever holds it may, whatever credential is sent; without it nobody. */
const tokenRows = (route: string, status: number, answered: boolean, body?: unknown): Row[] =>
  [false, true].map((wrongToken) =>
    row(
      route,
      wrongToken ? [refuseAll('404 not_found')] : anyone,
      status,
      async (stage) => {
        const { id, token } = await stage.interaction(answered);
        return { at: [id, wrongToken ? wrong : token], ...(body === undefined ? {} : { body }) };
      },
      wrongToken ? { case: 'with a wrong token' } : {},
    ),
  );

/** The picker, using a command, answering it (docs/behavior/interactions.md#answer-credential), and the person's view of it. */
export const interactionRows: readonly Row[] = [
  row('GET /api/channels/{channelId}/commands', viewers, 200, ({ channelId }) => ({ at: [channelId] })),
  row(
    'POST /api/channels/{channelId}/commands/{commandId}/invoke',
    [...viewingPeople, needs('Send Messages')],
    202,
    ({ channelId, commandId }) => ({ at: [channelId, commandId], body: {} }),
  ),
  ...tokenRows(`POST ${answering}/callback`, 201, false, answer),
  ...tokenRows(`POST ${answering}/followup`, 201, true, { content: 'more' }),
  ...tokenRows(`PATCH ${answering}/original`, 200, true, { content: 'changed' }),
  ...tokenRows(`DELETE ${answering}/original`, 204, true),
  row('GET /api/interactions/{id}', [...peopleOnly, ownerOnly('404 not_found')], 200, async (stage) => ({
    at: [(await stage.interaction()).id],
  })),
];

/** Registration, login and logout (docs/behavior/accounts.md#registration), and the description of the API. */
const accountRows: readonly Row[] = [
  row('POST /api/auth/register', anyone, 201, () => ({ body: { username: word('registered'), password } })),
  row('POST /api/auth/login', anyone, 200, async (stage) => {
    const username = word('registered');
    await stage.api.call('POST', '/api/auth/register', { body: { username, password } });
    return { body: { username, password } };
  }),
  row('POST /api/auth/codes', peopleOnly, 201, () => ({})),
  row('POST /api/auth/code', anyone, 200, async (stage) => {
    const { as } = await stage.person(); // of one person only the latest five count
    const { body } = await stage.api.call<LoginCode>('POST', '/api/auth/codes', { as });
    return { body: { code: body.code } };
  }),
  row('POST /api/auth/codes/preview', anyone, 200, async (stage) => {
    const { as } = await stage.person();
    const { body } = await stage.api.call<LoginCode>('POST', '/api/auth/codes', { as });
    return { body: { code: body.code } };
  }),
  row('POST /api/auth/code', [refuseAll('401 unauthorized')], 200, () => ({ body: { code: wrong } }), { case: 'with a wrong code' }),
  row(
    'POST /api/auth/logout',
    peopleOnly,
    204,
    async (stage, caller) => (caller.as.startsWith('Bearer') && caller.username ? { as: `Bearer ${await stage.session(caller)}` } : {}),
    { own: true },
  ),
  row('GET /api/auth/me', account, 200, () => ({})),
  row('GET /api/gateway', anyone, 200, () => ({})),
  row('GET /api/openapi.json', anyone, 200, () => ({})),
];

/** The rows of applications, commands, accounts and what describes the API. */
export const applicationRows: readonly Row[] = [...portalRows, ...commandRows, ...accountRows];
