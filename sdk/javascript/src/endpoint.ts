import type { Client } from './client.ts';
import type { CallbackInput, Interaction as RawInteraction } from './generated/types.ts';
import { type RequestHeaders, verifyRequest } from './verify.ts';

/** Settings of an endpoint. */
export interface EndpointOptions {
  /** The signing secret from the developer portal. Without it `createEndpoint` throws. */
  secret: string | undefined;
  /** The client whose commands answer. It need not be started. */
  client: Client;
}

/** The part of Node's `IncomingMessage` that the listener uses. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  method?: string | undefined;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The part of Node's `ServerResponse` that the listener uses. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body?: string): unknown;
}

/** An Interactions Endpoint. */
export interface Endpoint {
  /** A listener for Node's `http.createServer`. */
  listener: (request: NodeRequest, response: NodeResponse) => Promise<void>;
  /**
   * A handler of Fetch-style servers. Pass the platform's `waitUntil`, if it has one, so that it lets handlers run on after the response.
   */
  fetch: (request: Request, context?: { waitUntil?(work: Promise<unknown>): void }) => Promise<Response>;
}

interface Answer {
  status: number;
  /** Sent as JSON. */
  body?: object;
}

const bodyBytes = 1024 * 1024;
/** After this time an unanswered request is left to the callback route, in milliseconds. The service waits for 3 s. */
const leaveMs = 2_700;

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array | null> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > bodyBytes) return null;
    read.push(piece);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of read) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Answers the interactions that the service sends to an HTTPS address, with the commands of `client`. */
export function createEndpoint({ secret: given, client }: EndpointOptions): Endpoint {
  const secret = given?.trim(); // a secret from a file often has a line end
  if (!secret)
    throw new Error('An endpoint needs the signing secret of its application. Set SIGNING_SECRET, or pass `secret` to createEndpoint.');
  /** Resolves with the first answer. Later answers of the handler use the callback route. */
  const run = (interaction: RawInteraction, keepAlive: (work: Promise<unknown>) => void): Promise<Answer> =>
    new Promise((resolve) => {
      let isOpen = true;
      const respond = (body?: CallbackInput): void => {
        isOpen = false;
        clearTimeout(timer);
        resolve({ status: 200, ...(body ? { body } : {}) });
      };
      const timer = setTimeout(respond, leaveMs);
      const answer = async (body: CallbackInput): Promise<boolean> => {
        if (isOpen) {
          respond(body);
          return false;
        }
        await client.api.answerInteraction(interaction.id, interaction.token, body);
        return true;
      };
      keepAlive(client.handleInteraction(interaction, answer));
    });

  const answerTo = async (
    method: string | undefined,
    headers: RequestHeaders,
    pieces: AsyncIterable<Uint8Array>,
    keepAlive: (work: Promise<unknown>) => void,
  ): Promise<Answer> => {
    if (method !== 'POST') return { status: 405 };
    const rawBody = await readAll(pieces);
    if (!rawBody) return { status: 413 };
    if (!(await verifyRequest({ headers, rawBody, secret }))) return { status: 401 };
    const data = JSON.parse(new TextDecoder().decode(rawBody)) as { type: string };
    if (data.type === 'ping') return { status: 200, body: { type: 'pong' } };
    return data.type === 'command' ? run(data as RawInteraction, keepAlive) : { status: 400 };
  };

  return {
    listener: async (request, response) => {
      const { status, body } = await answerTo(request.method, request.headers, request, () => undefined).catch(() => ({
        status: 400,
        body: undefined,
      }));
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body && JSON.stringify(body));
    },
    fetch: async (request, context) => {
      const pieces = (request.body ?? []) as unknown as AsyncIterable<Uint8Array>;
      const { status, body } = await answerTo(request.method, request.headers, pieces, (work) => context?.waitUntil?.(work)).catch(() => ({
        status: 400,
        body: undefined,
      }));
      return new Response(body ? JSON.stringify(body) : null, { status, headers: { 'content-type': 'application/json' } });
    },
  };
}
