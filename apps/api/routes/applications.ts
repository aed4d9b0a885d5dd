import { limits } from '../../../lib/base/limits.ts';
import {
  Application,
  ApplicationInput,
  ApplicationPatch,
  AuthorizeInput,
  BotAuthorization,
  BotToken,
  NewApplication,
  SigningSecret,
} from '../../../lib/contract/application.ts';
import { EndpointDeliveriesQuery, EndpointDeliveryPage, EndpointTest } from '../../../lib/contract/endpoint.ts';
import {
  createApplication,
  deleteApplication,
  getApplication,
  listApplications,
  resetSigningSecret,
  resetToken,
  updateApplication,
} from '../../../lib/domain/applications/applications.ts';
import { authorizeBot } from '../../../lib/domain/applications/authorizations.ts';
import { listEndpointDeliveries, testEndpoint } from '../../../lib/domain/applications/endpoints.ts';
import { json } from '../bodies/json.ts';
import { List, Reply, type Route, route } from '../route.ts';

const ownerErrors = ['unauthorized', 'bots_not_allowed', 'not_owner', 'not_found', 'rate_limited'] as const;

/** The routes of applications, which their owners use (docs/behavior/accounts.md#applications). */
export const applicationsRoutes: readonly Route[] = [
  route({
    operationId: 'authorizeBot',
    tag: 'Applications',
    method: 'POST',
    path: '/api/applications/{applicationId}/authorize',
    auth: 'person',
    manages: (_platform, _params, { serverId }) => Promise.resolve(serverId),
    summary: 'Adds a bot, with its own role, to a server that the caller manages.',
    body: json(AuthorizeInput),
    reply: {
      status: 201,
      body: BotAuthorization,
      alternative: { status: 200, description: 'The bot was already in the server; nothing changed.' },
    },
    creates: 'resource',
    errors: [
      'invalid_request',
      'unauthorized',
      'missing_permission',
      'bots_not_allowed',
      'not_owner',
      'banned',
      'not_found',
      'too_many_roles',
      'idempotency_conflict',
      'rate_limited',
    ],
    run: async (platform, actor, { params, body, newId }) => {
      const { isAdded: added, authorized } = await authorizeBot(platform, actor, params.applicationId, body, newId);
      return added ? authorized : new Reply(authorized, { status: 200 });
    },
  }),
  route({
    operationId: 'createApplication',
    tag: 'Applications',
    method: 'POST',
    path: '/api/applications',
    auth: 'person',
    summary: 'Creates an application with its bot. The token is returned only here and by a reset.',
    body: json(ApplicationInput),
    reply: { status: 201, body: NewApplication },
    creates: 'secret',
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'too_many_applications', 'idempotency_conflict', 'rate_limited'],
    run: (platform, actor, { body, newId }) => createApplication(platform, actor, body, newId),
  }),
  route({
    operationId: 'listApplications',
    tag: 'Applications',
    method: 'GET',
    path: '/api/applications',
    auth: 'person',
    summary: 'Lists the caller’s applications, oldest first.',
    reply: { status: 200, body: List(Application, 'applicationsPerPerson') },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor) => listApplications(platform, actor),
  }),
  route({
    operationId: 'getApplication',
    tag: 'Applications',
    method: 'GET',
    path: '/api/applications/{applicationId}',
    auth: 'person',
    summary: 'Returns an application. Only its owner can read it.',
    reply: { status: 200, body: Application },
    errors: ownerErrors,
    run: (platform, actor, { params }) => getApplication(platform, actor, params.applicationId),
  }),
  route({
    operationId: 'updateApplication',
    tag: 'Applications',
    method: 'PATCH',
    path: '/api/applications/{applicationId}',
    auth: 'person',
    summary:
      'Updates an application. Renaming it also renames its bot and the bot’s own roles. An `interactionsEndpointUrl` is saved only if it answers a signed ping.',
    body: json(ApplicationPatch),
    reply: { status: 200, body: Application },
    errors: ['invalid_request', 'not_public', 'endpoint_unverified', 'secret_unreadable', ...ownerErrors, 'unavailable'],
    run: (platform, actor, { params, body }) => updateApplication(platform, actor, params.applicationId, body),
  }),
  route({
    operationId: 'deleteApplication',
    tag: 'Applications',
    method: 'DELETE',
    path: '/api/applications/{applicationId}',
    auth: 'person',
    summary: 'Deletes an application and its bot. The bot leaves every server.',
    reply: { status: 204 },
    errors: ownerErrors,
    run: (platform, actor, { params }) => deleteApplication(platform, actor, params.applicationId),
  }),
  route({
    operationId: 'resetBotToken',
    tag: 'Applications',
    method: 'POST',
    path: '/api/applications/{applicationId}/token',
    auth: 'person',
    summary: 'Replaces the bot’s token. The old token stops working at once, and its gateway sockets close with 4004.',
    reply: { status: 200, body: BotToken },
    errors: ownerErrors,
    run: (platform, actor, { params }) => resetToken(platform, actor, params.applicationId),
  }),
  route({
    operationId: 'resetSigningSecret',
    tag: 'Applications',
    method: 'POST',
    path: '/api/applications/{applicationId}/signing-secret',
    auth: 'person',
    summary: 'Replaces the application’s signing secret.',
    reply: { status: 200, body: SigningSecret },
    errors: ownerErrors,
    run: (platform, actor, { params }) => resetSigningSecret(platform, actor, params.applicationId),
  }),
  route({
    operationId: 'testInteractionsEndpoint',
    tag: 'Applications',
    method: 'POST',
    path: '/api/applications/{applicationId}/interactions-endpoint/test',
    auth: 'person',
    summary: 'Sends a signed ping to the saved Interactions Endpoint and returns the result step by step.',
    reply: { status: 200, body: EndpointTest },
    errors: ['invalid_request', 'secret_unreadable', ...ownerErrors, 'unavailable'],
    run: (platform, actor, { params }) => testEndpoint(platform, actor, params.applicationId),
  }),
  route({
    operationId: 'listInteractionDeliveries',
    tag: 'Applications',
    method: 'GET',
    path: '/api/applications/{applicationId}/deliveries',
    auth: 'person',
    summary: `Lists the last ${limits.interactionDeliveriesListed} interactions sent to the Interactions Endpoint with their results, newest first. They are kept for 7 days.`,
    query: EndpointDeliveriesQuery,
    reply: { status: 200, body: EndpointDeliveryPage },
    errors: ['invalid_request', ...ownerErrors],
    run: (platform, actor, { params, query }) =>
      listEndpointDeliveries(platform, actor, {
        applicationId: params.applicationId,
        before: query.before,
        limit: query.limit ?? limits.pageDefault,
      }),
  }),
];
