import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer that does not come from the API. */
export interface StrangeAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** An HTTP server in front of an API, as a proxy or a captive portal is. */
export interface FrontServer {
  url: string;
  /** The answers to the next requests; all later ones are forwarded. */
  answers: StrangeAnswer[];
  /** What has arrived, as `POST /path`. */
  arrivals: string[];
  close(): Promise<void>;
}

/** Starts a front server of the API at the address that `target` returns. */
export async function startFrontServer(target: () => string): Promise<FrontServer> {
  const front: Pick<FrontServer, 'answers' | 'arrivals'> = { answers: [], arrivals: [] };
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const { method = 'GET', url = '/', headers } = request;
      front.arrivals.push(`${method} ${url}`);
      const strange = front.answers.shift();
      if (strange) return void response.writeHead(strange.status, strange.headers).end(strange.body);
      const { host: _host, connection: _connection, 'content-length': _length, 'transfer-encoding': _encoding, ...kept } = headers;
      const body = Buffer.concat(pieces);
      const answer = await fetch(target() + url, {
        method,
        headers: kept as Record<string, string>,
        ...(body.length > 0 ? { body } : {}),
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
    };
    handle().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(front, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
