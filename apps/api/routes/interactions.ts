import { limits } from '../../../lib/base/limits.ts';
import { InteractionView } from '../../../lib/contract/interaction.ts';
import { CallbackInput, FollowupInput, Message, MessageEdit } from '../../../lib/contract/message.ts';
import {
  answerInteraction,
  type InteractionKey,
  postFollowUp,
  requireInteractionByToken,
  requireInteractionToken,
} from '../../../lib/domain/interactions/answers.ts';
import { getInteractionView } from '../../../lib/domain/interactions/interactions.ts';
import { countFollowUp } from '../../../lib/domain/interactions/limits.ts';
import { deleteOriginal, editOriginal, getOriginal } from '../../../lib/domain/interactions/originals.ts';
import type { InteractionDoc } from '../../../lib/store/mongo/models/interaction.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { json } from '../bodies/json.ts';
import { type Admission, Reply, type Route, route } from '../route.ts';

const answerErrors = [
  'invalid_request',
  'not_found',
  'missing_permission',
  'account_suspended',
  'interaction_expired',
  'idempotency_conflict',
  'unavailable',
] as const;

interface PathParams {
  interactionId: string;
  interactionToken: string;
}
const toKey = ({ interactionId, interactionToken }: PathParams): InteractionKey => ({ id: interactionId, token: interactionToken });
const checkPath = async (platform: ApiPlatform, params: PathParams): Promise<void> => requireInteractionToken(platform, toKey(params));

/** Reads the interaction of a follow-up, or of a request for the original, and counts the request. */
async function admit(platform: ApiPlatform, _actor: null, { params }: { params: PathParams }): Promise<Admission<InteractionDoc>> {
  const found = await requireInteractionByToken(platform, toKey(params));
  return { rates: await countFollowUp(platform, found), found };
}

/**
 * The routes of answers to interactions (docs/behavior/interactions.md#first-answer, docs/behavior/interactions.md#the-original), and of an interaction's
 * state. The id and token in the path are the credential of all but the last.
 */
export const interactionsRoutes: readonly Route[] = [
  route({
    operationId: 'answerInteraction',
    tag: 'Interactions',
    method: 'POST',
    path: '/api/interactions/{interactionId}/{interactionToken}/callback',
    auth: 'none',
    rateLimit: 'none',
    checkPath,
    summary: `Sends the first answer to an interaction within ${limits.answerWindowMs / 1000} seconds: a message, or a defer that allows follow-ups for ${limits.followupWindowMs / 60_000} minutes.`,
    body: json(CallbackInput),
    reply: { status: 201, body: Message, alternative: { status: 204, description: 'The answer was deferred.' } },
    creates: 'resource',
    errors: [...answerErrors, 'already_answered'],
    run: async (platform, _actor, { params, body, newId }) =>
      (await answerInteraction(platform, { ...toKey(params), newId, answer: body })) ?? new Reply(undefined, { status: 204 }),
  }),
  route({
    operationId: 'createFollowup',
    tag: 'Interactions',
    method: 'POST',
    path: '/api/interactions/{interactionId}/{interactionToken}/followup',
    auth: 'none',
    rateLimit: 'none',
    checkPath,
    summary: `Posts a follow-up message within ${limits.followupWindowMs / 60_000} minutes of the answer or defer. The first one after a defer is the answer. Limit per interaction: a burst of ${limits.followups} requests, then ${(limits.followups * 1000) / limits.followupRateMs} a second, shared with requests for the original answer.`,
    body: json(FollowupInput),
    reply: { status: 201, body: Message },
    creates: 'resource',
    errors: [...answerErrors, 'not_answered', 'rate_limited'],
    admit,
    run: (platform, _actor, { body, newId, found }) => postFollowUp(platform, found, { newId, answer: body }),
  }),
  route({
    operationId: 'getOriginalAnswer',
    tag: 'Interactions',
    method: 'GET',
    path: '/api/interactions/{interactionId}/{interactionToken}/original',
    auth: 'none',
    rateLimit: 'none',
    checkPath,
    summary: `Returns the first answer, within the same ${limits.followupWindowMs / 60_000} minutes.`,
    reply: { status: 200, body: Message },
    errors: ['not_found', 'missing_permission', 'account_suspended', 'interaction_expired', 'not_answered', 'rate_limited', 'unavailable'],
    admit,
    run: (platform, _actor, { found }) => getOriginal(platform, found),
  }),
  route({
    operationId: 'editOriginalAnswer',
    tag: 'Interactions',
    method: 'PATCH',
    path: '/api/interactions/{interactionId}/{interactionToken}/original',
    auth: 'none',
    rateLimit: 'none',
    checkPath,
    summary: `Edits the first answer like a message, within the same ${limits.followupWindowMs / 60_000} minutes. After a defer this is the answer.`,
    body: json(MessageEdit),
    reply: { status: 200, body: Message },
    errors: [
      'invalid_request',
      'not_found',
      'missing_permission',
      'account_suspended',
      'interaction_expired',
      'not_answered',
      'rate_limited',
      'unavailable',
    ],
    admit,
    run: (platform, _actor, { body, found }) => editOriginal(platform, found, body),
  }),
  route({
    operationId: 'deleteOriginalAnswer',
    tag: 'Interactions',
    method: 'DELETE',
    path: '/api/interactions/{interactionId}/{interactionToken}/original',
    auth: 'none',
    rateLimit: 'none',
    checkPath,
    summary: `Deletes the first answer, within the same ${limits.followupWindowMs / 60_000} minutes.`,
    reply: { status: 204 },
    errors: ['not_found', 'missing_permission', 'account_suspended', 'interaction_expired', 'not_answered', 'rate_limited', 'unavailable'],
    admit,
    run: (platform, _actor, { found }) => deleteOriginal(platform, found),
  }),
  route({
    operationId: 'getInteraction',
    tag: 'Interactions',
    method: 'GET',
    path: '/api/interactions/{interactionId}',
    auth: 'person',
    summary: 'Returns the state of an interaction to the person who used the command.',
    reply: { status: 200, body: InteractionView },
    errors: ['unauthorized', 'bots_not_allowed', 'not_found', 'rate_limited', 'unavailable'],
    run: (platform, actor, { params }) => getInteractionView(platform, actor, params.interactionId),
  }),
];
