import { Refusal } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import { requireValid } from '../../lib/contract/check.ts';
import type { EndpointDeliveryOutcome } from '../../lib/contract/endpoint.ts';
import type { Interaction } from '../../lib/contract/interaction.ts';
import type { InteractionRequest } from '../../lib/contract/interactions-endpoint.ts';
import { CallbackInput } from '../../lib/contract/message.ts';
import { type EndpointReply, postToEndpoint, toEndpointTest } from '../../lib/domain/applications/endpoint-requests.ts';
import { createOutbound } from '../../lib/outbound/request.ts';
import { ApiError, type Call } from './api-client.ts';

/** A local endpoint that gets the same requests as a saved Interactions Endpoint URL. */
export interface LocalEndpoint {
  /** Sends a signed ping. Returns null if the endpoint answers it correctly, else what is wrong and what to do. */
  ping(): Promise<string | null>;
  /** Posts an interaction, and sends a valid answer to the callback route. Returns one line that describes the result. Never rejects. */
  forward(interaction: Interaction): Promise<string>;
}

/** What to do about a failed request; '' if its reason says enough. */
function findAdvice({ status, step, reason }: Extract<EndpointReply, { ok: false }>, url: string): string {
  if (step === 'connect' || step === 'dns') return ` Nothing answers at ${url}. Start your endpoint, or give its URL with --to.`;
  if (status === 401 || status === 403) return ' The endpoint refused the signature. Start it with the same SIGNING_SECRET.';
  if (reason === 'timed out')
    return ` An endpoint must answer within ${limits.answerWindowMs / 1000} seconds. Answer {"type":"defer"} first, and send the rest as a follow-up.`;
  return '';
}

const describeFailure = (reply: Extract<EndpointReply, { ok: false }>, url: string): string =>
  `${reply.step}: ${reply.reason}.${findAdvice(reply, url)}`;

/** Checks the answer of an endpoint as the platform does, and applies it through the callback route. Returns the outcome, with the reason if it failed. */
async function applyAnswer(
  call: Call,
  { id, token }: Interaction,
  answer: unknown,
): Promise<EndpointDeliveryOutcome | `failed: ${string}`> {
  if (answer === undefined) return 'empty';
  try {
    requireValid(CallbackInput, answer, 'body');
    await call('POST', `/api/interactions/${id}/${token}/callback`, answer);
    return (answer as CallbackInput).type === 'defer' ? 'deferred' : 'answered';
  } catch (error) {
    if (error instanceof ApiError) return `failed: ${error.code ?? error.status}: ${error.reason}`;
    return `failed: ${error instanceof Refusal ? `${error.code}: ${error.message}` : 'the platform does not respond'}`;
  }
}

/** Connects to the endpoint at `url` with the application's signing secret. `call` calls the platform. */
export function localEndpoint(url: string, secret: string, call: Call): LocalEndpoint {
  const { hostname, port, protocol } = new URL(url);
  const platform = {
    now: () => Date.now(),
    outbound: createOutbound({ allow: [`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`] }),
  };
  const post = (payload: InteractionRequest): Promise<EndpointReply> =>
    postToEndpoint(platform, { url, secret, payload, timeoutMs: limits.answerWindowMs });
  return {
    async ping() {
      const reply = await post({ type: 'ping' });
      if (!reply.ok) return describeFailure(reply, url);
      const { step, reason } = toEndpointTest(reply);
      return step === null ? null : `${step}: ${reason}.`;
    },
    async forward(interaction) {
      const reply = await post(interaction);
      const outcome = reply.ok ? await applyAnswer(call, interaction, reply.answer) : `failed: ${describeFailure(reply, url)}`;
      return `/${interaction.data.name} ${reply.status ?? '-'} ${reply.ms} ms ${outcome}`;
    },
  };
}
