import { createServer } from 'node:https';

/** A request to this process. `begin` resets the report and makes the paths in `hanging` never answer; `report` asks for the report. */
export type EndpointsAsk = { kind: 'begin'; hanging: readonly string[] } | { kind: 'report' };

/** The requests since `begin`. */
export interface EndpointsReport {
  /** The id of each request, and when it was completely received, in Unix milliseconds with fractions. */
  arrived: [id: string, at: number][];
  /** The most concurrent requests on one path. */
  maxConcurrent: number;
}

// Interactions Endpoints over real TLS, one per path. Each answers at once with a message that contains the interaction's id, or never answers.
let hanging: ReadonlySet<string> = new Set();
let arrived: EndpointsReport['arrived'] = [];
let maxConcurrent = 0;
const concurrentByPath = new Map<string, number>();

const server = createServer({ key: String(process.env.TLS_KEY), cert: String(process.env.TLS_CERT) }, (request, response) => {
  const path = String(request.url);
  const concurrent = (concurrentByPath.get(path) ?? 0) + 1;
  concurrentByPath.set(path, concurrent);
  maxConcurrent = Math.max(maxConcurrent, concurrent);
  response.once('close', () => concurrentByPath.set(path, (concurrentByPath.get(path) ?? 1) - 1));
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.once('end', () => {
    const at = performance.timeOrigin + performance.now();
    const { id } = JSON.parse(Buffer.concat(pieces).toString()) as { id: string };
    arrived.push([id, at]);
    if (hanging.has(path)) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ type: 'message', content: id }));
  });
});
process.on('message', (ask: EndpointsAsk) => {
  if (ask.kind === 'begin') {
    hanging = new Set(ask.hanging);
    arrived = [];
    maxConcurrent = 0;
    process.send?.('begun');
  } else process.send?.({ arrived, maxConcurrent } satisfies EndpointsReport);
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
