import { limits } from '../../base/limits.ts';
import { isTooDeep } from '../../contract/check.ts';
import type { EndpointStep, EndpointTest } from '../../contract/endpoint.ts';
import { endpointHeaders, type InteractionRequest } from '../../contract/interactions-endpoint.ts';
import type { OutboundRequest, OutboundStage } from '../../outbound/request.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { signRequest } from '../../store/seal.ts';

/** One request to an Interactions Endpoint. */
export interface EndpointRequest {
  url: string;
  /** The application's signing secret, in the clear. */
  secret: string;
  /** Sent as JSON. */
  payload: InteractionRequest;
  /** One deadline for name lookup, connection, TLS, headers and body together, in milliseconds. */
  timeoutMs: number;
  /** The application whose later requests may use the connection again. Default: it is closed. */
  applicationId?: string;
}

/** The reply of an endpoint: 200 with JSON (`answer`; undefined for an empty body and for 204), or a failure, with the step that failed and the reason in words. */
export type EndpointReply = { status: number | null; ms: number; stages: readonly OutboundStage[] } & (
  | { ok: true; answer: unknown }
  | { ok: false; step: EndpointStep; reason: string }
);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a body as JSON; undefined for an empty body. `error` says what is wrong with it. */
function parseBody(body: Buffer): { answer: unknown } | { error: string } {
  if (body.length === 0) return { answer: undefined };
  try {
    const answer: unknown = JSON.parse(utf8.decode(body));
    return isTooDeep(answer) ? { error: `is nested deeper than ${limits.bodyDepth} levels` } : { answer };
  } catch {
    return { error: 'is not valid JSON in UTF-8' };
  }
}

const describeStatus = (status: number | null): string => `is ${status}; only 200 is accepted`;

/**
 * Sends one signed request to an endpoint (docs/behavior/interactions.md#signatures): `X-Service-Signature` is computed over the exact bytes that are sent.
 * The request goes to public https addresses only, follows no redirect, reads at most 256 KiB and is never repeated. Never rejects.
 */
export async function postToEndpoint(
  platform: Pick<EnqueuePlatform, 'now' | 'outbound'>,
  { url, secret, payload, timeoutMs, applicationId }: EndpointRequest,
): Promise<EndpointReply> {
  const body = Buffer.from(JSON.stringify(payload));
  const timestamp = String(Math.floor(platform.now() / 1000));
  const headers = {
    'content-type': 'application/json',
    [endpointHeaders.timestamp]: timestamp,
    [endpointHeaders.signature]: signRequest(secret, timestamp, body),
  };
  const maxBytes = limits.endpointResponseBytes;
  // The body of an error response is not read, however long or slow it is: its status is the failure.
  const shouldReadBody: OutboundRequest['shouldReadBody'] = ({ status: received }) => received === 200 || received === 204;
  const options = { timeoutMs, maxBytes, shouldReadBody, keepFor: applicationId };
  const result = await platform.outbound({ url, method: 'POST', headers, body, ...options });
  const { status, ms, stages } = result;
  const failed = (step: EndpointStep, reason: string): EndpointReply => ({ ok: false, status, ms, stages, step, reason });
  if (!result.ok) {
    const { allowablePair, reason, step } = result;
    return failed(
      step,
      allowablePair === null ? reason : `${reason}; for development, an operator can allow it by OUTBOUND_ALLOW=${allowablePair}`,
    );
  }
  // An endpoint says by 204 that it answers later, or not at all.
  if (status === 204) return { ok: true, status, ms, stages, answer: undefined };
  if (status !== 200) return failed('status', describeStatus(status));
  const parsed = parseBody(result.body);
  return 'error' in parsed ? failed('body', parsed.error) : { ok: true, status, ms, stages, answer: parsed.answer };
}

const isPong = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && (answer as { type?: unknown }).type === 'pong';

/** Why a reply to a ping is not a pong; null if it is one. */
function findPingFailure(reply: EndpointReply): { step: EndpointStep; reason: string } | null {
  if (!reply.ok) return reply;
  if (reply.status !== 200) return { step: 'status', reason: describeStatus(reply.status) };
  return isPong(reply.answer) ? null : { step: 'body', reason: 'is not {"type":"pong"}' };
}

/**
 * The reply to a ping as the application's owner sees it. A 200 with anything but `{ type: pong }` is a failure too. Steps after the failed one are left out.
 */
export function toEndpointTest(reply: EndpointReply): EndpointTest {
  const { status, ms, stages } = reply;
  const failure = findPingFailure(reply);
  const reached = failure ? stages.slice(0, stages.findIndex(({ step }) => step === failure.step) + 1) : stages;
  const steps = reached.map((stage) => ({ ...stage, ok: stage.step !== failure?.step }));
  return { ok: failure === null, status, ms, step: failure?.step ?? null, reason: failure?.reason ?? null, steps };
}
