import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer of something in front of the API. */
interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * What happens to a request. `refuse`: 503, and the API does not get it. `hide`: the API handles it, and the answer is replaced by 503. `lose`: the API handles
 * it, and the connection breaks. `hang`: no answer. An answer: the API does not get it, and this is sent.
 */
type Fate = 'forward' | 'refuse' | 'hide' | 'lose' | 'hang' | Answer;

/** A request that arrived, as `POST /path`, with its headers and body. */
interface Arrival {
  line: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** An HTTP server in front of an API that fails as the test plans. */
export interface FlakyApi {
  url: string;
  arrivals: Arrival[];
  /** The fates of the next requests; all later ones are forwarded. */
  plan: Fate[];
  /** How long the next requests are held before they are forwarded, in milliseconds. */
  delaysMs: number[];
  /** The statuses of the API's answers. */
  statuses: number[];
  /** Headers that are added to every answer. */
  addedHeaders: Record<string, string>;
  close(): Promise<void>;
}

/** Starts a flaky server in front of the API at the address that `target` returns. */
export async function startFlakyApi(target: () => string): Promise<FlakyApi> {
  const flaky: Pick<FlakyApi, 'arrivals' | 'plan' | 'addedHeaders' | 'delaysMs' | 'statuses'> = {
    arrivals: [],
    plan: [],
    addedHeaders: {},
    delaysMs: [],
    statuses: [],
  };
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const body = Buffer.concat(pieces);
      const { method = 'GET', url = '/', headers } = request;
      flaky.arrivals.push({ line: `${method} ${url}`, headers, body });
      const fate = flaky.plan.shift() ?? 'forward';
      const refuse = (): unknown => response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Unavailable</h1>');
      if (fate === 'refuse') return void refuse();
      if (fate === 'hang') return;
      if (typeof fate === 'object') return void response.writeHead(fate.status, fate.headers).end(fate.body);
      await new Promise((resolve) => setTimeout(resolve, flaky.delaysMs.shift() ?? 0));
      const { host: _host, connection: _connection, 'content-length': _length, 'transfer-encoding': _encoding, ...kept } = headers;
      const answer = await fetch(target() + url, { method, headers: kept as Record<string, string>, ...(body.length > 0 ? { body } : {}) });
      flaky.statuses.push(answer.status);
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (fate === 'hide') return void refuse();
      if (fate === 'lose') return void request.socket.destroy();
      response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...flaky.addedHeaders });
      response.end(bytes);
    };
    handle().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(flaky, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
