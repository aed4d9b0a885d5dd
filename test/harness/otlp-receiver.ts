import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listen } from '../../lib/base/http-server.ts';

/** A span that a receiver got. */
export interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** '' for the first span of a trace. */
  parentSpanId: string;
  attributes: Record<string, string | number>;
  hasFailed: boolean;
}

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: OtlpAttribute[];
  status: { code?: number };
}
interface OtlpRequest {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

const toAttributes = (list: readonly OtlpAttribute[]): Record<string, string | number> =>
  Object.fromEntries(list.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? Number(intValue)]));

const toSpans = (body: string): ReceivedSpan[] =>
  (JSON.parse(body) as OtlpRequest).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', attributes, status }) => ({
        service: String(toAttributes(resource.attributes)['service.name']),
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: toAttributes(attributes),
        hasFailed: status.code === 2,
      })),
    ),
  );

/** A receiver of traces by OTLP over HTTP, on loopback. */
export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** The headers of each request, and all bodies as they were received. */
  headers: IncomingHttpHeaders[];
  bytes(): string;
  /** Answers each request with `status` from now on; null: it does not answer until a status is set. Requests that are held back are answered, too. */
  answerWith(status: number | null): void;
  /** Resolves when `isReached` is true after a request. */
  until(isReached: () => boolean): Promise<void>;
  /** The first span, received or still to come, for which `wanted` returns true. */
  waitFor(wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

/** Starts a receiver. Spans of requests that it answers with an error, or after the sender has given up, do not count as received. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const bodies: string[] = [];
  const watching = new Set<() => void>();
  let held: { body: string; response: ServerResponse }[] = [];
  let status: number | null = 200;
  const answer = (body: string, response: ServerResponse): void => {
    if (response.destroyed) return; // the sender has given up
    if (status === null) return void held.push({ body, response });
    if (status === 200) spans.push(...toSpans(body));
    response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
  };
  const look = (): void => {
    for (const one of watching) one();
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      headers.push(request.headers);
      bodies.push(body);
      answer(body, response);
      look();
    });
  });
  const { port } = await listen(server, 0, '127.0.0.1');
  const until = (isReached: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isReached()) return;
        watching.delete(check);
        resolve();
      };
      watching.add(check);
      check();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers,
    bytes: () => bodies.join('\n'),
    answerWith(next) {
      status = next;
      const waiting = held;
      held = [];
      for (const { body, response } of waiting) answer(body, response);
      look();
    },
    until,
    async waitFor(wanted) {
      await until(() => spans.some(wanted));
      return spans.find(wanted) as ReceivedSpan;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
