import type { LoginCode } from '../../../lib/contract/auth.ts';
import { createPasswordReset } from '../../../lib/domain/accounts/password-resets.ts';
import { password, word } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { putCommands, slash } from '../applications/commands-fixture.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, anyone, needs, ownerOnly, ownsApplication, peopleOnly, refuseAll, viewers, viewingPeople } from './roles.ts';
import { applicationCall, type Call, channelCall, type Row, row, withBody, wrongToken } from './row.ts';

const application = '/api/applications/{applicationId}';
const portal = [...peopleOnly, ownsApplication(false)];
/** A call with another application of the same owner, for changes that cannot be undone. */
const newApplicationCall = async (fixture: MatrixFixture): Promise<Call> => ({
  params: [(await fixture.makeApplication(fixture.callerOf('the application’s owner'))).applicationId],
});

/** The owner's routes for an application (docs/behavior/accounts.md#applications). */
const portalRows: readonly Row[] = [
  row('POST /api/applications', peopleOnly, 201, () => ({ body: { name: word('app') } })),
  row('GET /api/applications', peopleOnly, 200, () => ({})),
  row(`GET ${application}`, portal, 200, applicationCall),
  row(`PATCH ${application}`, portal, 200, withBody(applicationCall, { description: 'changed' })),
  row(`DELETE ${application}`, portal, 204, newApplicationCall),
  row(`POST ${application}/token`, portal, 200, newApplicationCall),
  row(`POST ${application}/signing-secret`, portal, 200, newApplicationCall),
  row(`POST ${application}/interactions-endpoint/test`, [...portal, refuseAll('400 invalid_request')], 200, applicationCall, 'without URL'),
  row(`GET ${application}/deliveries`, portal, 200, applicationCall),
];

const commands = '/api/applications/{applicationId}/commands';
const ofServer = '/api/applications/{applicationId}/servers/{serverId}/commands';
const commanding = [...account, ownsApplication(true)];
/** A call with a command of a new server, because a list that is replaced loses the command of another call. */
async function serverCommandCall(fixture: MatrixFixture): Promise<Call> {
  const { api, application: app } = fixture;
  const id = await fixture.makeServer();
  await fixture.addToServer(app, id);
  const [command] = await putCommands(api, app, [slash('one')], { id });
  return { params: [app.applicationId, command?.id as string] };
}

const notFoundHere = [...commanding, refuseAll('404 not_found')];
const ownServerCall = ({ application: app, serverId }: MatrixFixture): Call => ({ params: [app.applicationId, serverId] });
const foreignServerCall = async (fixture: MatrixFixture): Promise<Call> => ({
  params: [fixture.application.applicationId, await fixture.makeServer()],
});

/** Command lists, for the bot or the application's owner (docs/behavior/interactions.md#command-lists). */
const commandRows: readonly Row[] = [
  row(`GET ${commands}`, commanding, 200, applicationCall),
  row(`PUT ${commands}`, commanding, 200, withBody(applicationCall, [slash('hello')])),
  row(`GET ${ofServer}`, commanding, 200, ownServerCall),
  row(`PUT ${ofServer}`, commanding, 200, withBody(ownServerCall, [])),
  row(`GET ${ofServer}`, notFoundHere, 200, foreignServerCall, 'of a server that the bot is not in'),
  row(`PUT ${ofServer}`, notFoundHere, 200, withBody(foreignServerCall, []), 'of a server that the bot is not in'),
  row(`DELETE ${commands}/{commandId}`, commanding, 204, serverCommandCall),
];

const interaction = '/api/interactions/{interactionId}/{interactionToken}';
const answer = { type: 'message', content: 'hello' };

/** Rows of a route with an interaction's token: everyone with the right token may call it, whatever credential they send, and nobody with a wrong one. */
function tokenRows(route: string, status: number, answered: boolean, body?: unknown): Row[] {
  const call =
    (wrong?: string): Row['call'] =>
    async (fixture) => {
      const { id, token } = await fixture.makeInteraction(answered);
      return { params: [id, wrong ?? token], body };
    };
  return [row(route, anyone, status, call()), row(route, [refuseAll('404 not_found')], status, call(wrongToken), 'with a wrong token')];
}

/** Listing and using commands, answers (docs/behavior/interactions.md#answer-credential), and reading an interaction. */
export const interactionRows: readonly Row[] = [
  row('GET /api/channels/{channelId}/commands', viewers, 200, channelCall),
  row('POST /api/channels/{channelId}/commands/{commandId}/invoke', [...viewingPeople, needs('Send Messages')], 202, (fixture) => ({
    params: [fixture.channelId, fixture.commandId],
    body: {},
  })),
  ...tokenRows(`POST ${interaction}/callback`, 201, false, answer),
  ...tokenRows(`POST ${interaction}/followup`, 201, true, { content: 'more' }),
  ...tokenRows(`GET ${interaction}/original`, 200, true),
  ...tokenRows(`PATCH ${interaction}/original`, 200, true, { content: 'changed' }),
  ...tokenRows(`DELETE ${interaction}/original`, 204, true),
  row('GET /api/interactions/{interactionId}', [...peopleOnly, ownerOnly('404 not_found')], 200, async (fixture) => ({
    params: [(await fixture.makeInteraction()).id],
  })),
];

/** A call with the login code of a new person, of whom only the latest five codes are valid. */
async function loginCodeCall({ api, makePerson }: MatrixFixture): Promise<Call> {
  const { code } = await send<LoginCode>(api, 201, await makePerson(), 'POST', '/api/auth/codes');
  return { body: { code } };
}

async function passwordResetCall({ api, makePerson }: MatrixFixture, more = {}): Promise<Call> {
  const { code } = await createPasswordReset(api.platform, (await makePerson()).id);
  return { body: { code, ...more } };
}

/** A call with another session of the caller, if it is a person. */
const logoutCall = async (fixture: MatrixFixture, caller: Caller): Promise<Call> =>
  caller.as.startsWith('Bearer') && caller.username ? { as: `Bearer ${await fixture.makeSession(caller)}` } : {};

/** Registration, login and logout (docs/behavior/accounts.md#registration), and the description of the API. */
const accountRows: readonly Row[] = [
  row('POST /api/auth/register', anyone, 201, () => ({ body: { username: word('registered'), password } })),
  row('POST /api/auth/login', anyone, 200, async (fixture) => {
    const username = word('registered');
    await fixture.api.call('POST', '/api/auth/register', { body: { username, password } });
    return { body: { username, password } };
  }),
  row('POST /api/auth/codes', peopleOnly, 201, () => ({})),
  row('POST /api/auth/code', anyone, 200, loginCodeCall),
  row('POST /api/auth/codes/preview', anyone, 200, loginCodeCall),
  row('POST /api/auth/code', [refuseAll('401 unauthorized')], 200, () => ({ body: { code: wrongToken } }), 'with a wrong code'),
  row('POST /api/auth/password-reset', anyone, 204, (fixture) => passwordResetCall(fixture, { newPassword: password })),
  row('POST /api/auth/password-reset/preview', anyone, 200, (fixture) => passwordResetCall(fixture)),
  row('GET /api/instance', anyone, 200, () => ({})),
  row('POST /api/auth/logout', peopleOnly, 204, logoutCall, { perCaller: true }),
  row('GET /api/auth/me', account, 200, () => ({})),
  row('GET /api/gateway', anyone, 200, () => ({})),
  row('GET /api/openapi.json', anyone, 200, () => ({})),
  row('GET /api/asyncapi.json', anyone, 200, () => ({})),
];

/** The rows of applications, commands, accounts and the description of the API. */
export const applicationRows: readonly Row[] = [...portalRows, ...commandRows, ...accountRows];
