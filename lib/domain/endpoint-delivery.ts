import { Refusal } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import { cut } from '../base/text.ts';
import { checkFit } from '../contract/check.ts';
import { CallbackInput } from '../contract/message.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { interactionTokenOf, unseal } from '../store/seal.ts';
import { loadServerNow, mayView } from './access.ts';
import { askEndpoint } from './endpoint-requests.ts';
import { giveAnswer } from './interaction-answers.ts';
import { payloadOf } from './interaction-delivery.ts';
import { windows } from './interaction-states.ts';

type Outcome = NonNullable<InteractionDoc['delivery']>;

/** What of a reason is kept, in characters. */
const reasonChars = 300;

const failed = (reason: string, sent: Pick<Outcome, 'status' | 'ms'> = { status: null, ms: 0 }): Outcome => ({
  status: sent.status,
  ms: sent.ms,
  outcome: 'failed',
  reason: cut(reason, reasonChars),
});

/** Claims the one request of an interaction; null when it was claimed before, is answered, or its 3 seconds are over. */
async function claim(platform: WorkerPlatform, id: string): Promise<(InteractionDoc & { deliveredAt: Date }) | null> {
  const claimed = await platform.db.interactions.collection.findOneAndUpdate(
    { _id: id as never, endpoint: true, state: 'created', deliveredAt: null, $expr: windows.answering },
    [{ $set: { deliveredAt: '$$NOW' } }],
    { returnDocument: 'after' },
  );
  return claimed as unknown as (InteractionDoc & { deliveredAt: Date }) | null;
}

/** Applies what an endpoint answered with 200, exactly as a callback would (spec, Interactions). */
async function apply(
  platform: WorkerPlatform,
  interaction: InteractionDoc,
  answer: unknown,
  sent: Pick<Outcome, 'status' | 'ms'>,
): Promise<Outcome> {
  if (answer === undefined) return { ...sent, outcome: 'empty', reason: null };
  try {
    checkFit(CallbackInput, answer, 'body');
    const message = await giveAnswer(platform, interaction, answer as CallbackInput, await platform.messageId());
    return { ...sent, outcome: message ? 'answered' : 'deferred', reason: null };
  } catch (fault) {
    if (fault instanceof Refusal) return failed(`${fault.code}: ${fault.message}`, sent);
    throw fault;
  }
}

/** Makes the one request of a claimed interaction, within what is left of its 3 seconds, and applies the answer. */
async function send(platform: WorkerPlatform, interaction: InteractionDoc & { deliveredAt: Date }): Promise<Outcome> {
  const { _id: id, applicationId, serverId, botId, channelId, createdAt, deliveredAt } = interaction;
  const leftMs = createdAt.getTime() + limits.answerWindowMs - deliveredAt.getTime(); // by the database's clock alone
  const endsAt = performance.now() + leftMs;
  const application = await platform.db.applications.findOne({ _id: applicationId }).lean();
  const url = application?.interactionsEndpointUrl;
  if (!application || !url) return failed('the application has no Interactions Endpoint any more');
  const access = serverId === null ? null : await loadServerNow(platform, serverId);
  if (serverId !== null && !(access && (await mayView(access, botId, channelId))))
    return failed('the bot may not see the channel any more');
  const flight = { id, group: applicationId, groupMax: limits.requestsPerApplication, lastsMs: leftMs + 1_000 };
  const land = await platform.takeFlight(flight).catch(async (error: unknown) => {
    // Redis is away, and nothing was sent: the claim is given back, for the sweep to try again while there is time.
    await platform.db.interactions.updateOne({ _id: id }, { $set: { deliveredAt: null } });
    throw error;
  });
  if (!land) return failed('busy: too many requests of the application wait for their answer');
  try {
    const { APP_KEY } = platform.config;
    const payload = { ...(await payloadOf(platform, interaction)), token: interactionTokenOf(APP_KEY, id) };
    const secret = unseal(APP_KEY, application.signingSecret);
    const timeoutMs = Math.floor(endsAt - performance.now());
    if (timeoutMs <= 0) return failed('the time was over before the request was sent');
    const reply = await askEndpoint(platform, { url, secret, payload, timeoutMs });
    failpoint(platform.config, 'after-endpoint-reply');
    return reply.ok ? await apply(platform, interaction, reply.answer, reply) : failed(`${reply.step}: ${reply.reason}`, reply);
  } finally {
    land();
  }
}

/**
 * Posts an interaction to its application's Interactions Endpoint (spec, Interactions; quality 3 and P8): at most once, whatever dies, as the claim goes before
 * the request. What is no answer leaves the interaction to the callback route until its time is over. Notes the outcome for the application's owner.
 */
export async function postInteraction(platform: WorkerPlatform, id: string): Promise<void> {
  const interaction = await claim(platform, id);
  if (!interaction) return;
  failpoint(platform.config, 'after-endpoint-claim');
  const { status, ms, outcome, reason } = await send(platform, interaction);
  await platform.db.interactions.updateOne({ _id: id }, { $set: { delivery: { status, ms, outcome, reason } } });
}
