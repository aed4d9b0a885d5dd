import { createServer, type ServerResponse } from 'node:http';
import { httpTimeouts, type Listening, listen } from './http-server.ts';

/** What the internal server of a process answers. */
export interface InternalPages {
  /** The text of `/metrics` and its media type. */
  readonly renderMetrics: () => Promise<{ type: string; text: string }>;
  /** What is wrong with this process, for `/healthz`; null if nothing is. It asks no store: a restart of this process repairs none. */
  readonly findFault: () => string | null;
}

const send = (response: ServerResponse, status: number, type: string, text: string): void =>
  void response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }).end(text);

/**
 * Serves `/metrics` and `/healthz` of one process on `port` (0: any free port) of `host`. They need no password, so the port must not be reachable from outside
 * of the installation (docs/operations.md#metrics).
 */
export function startInternalServer(host: string, port: number, { renderMetrics, findFault }: InternalPages): Promise<Listening> {
  const sendMetrics = (response: ServerResponse): void =>
    void renderMetrics().then(
      ({ type, text }) => send(response, 200, type, text),
      (error: unknown) => send(response, 500, 'text/plain; charset=utf-8', `${(error as Error).message}\n`),
    );
  const sendHealth = (response: ServerResponse): void => {
    const fault = findFault();
    send(response, fault === null ? 200 : 503, 'application/json', JSON.stringify(fault === null ? { ok: true } : { ok: false, fault }));
  };
  const server = createServer({ ...httpTimeouts, requestTimeout: 30_000 }, ({ method = '', url = '' }, response) => {
    const [path] = url.split('?');
    if (!['GET', 'HEAD'].includes(method)) send(response, 405, 'text/plain; charset=utf-8', 'Only GET and HEAD are allowed.\n');
    else if (path === '/metrics') sendMetrics(response);
    else if (path === '/healthz') sendHealth(response);
    else send(response, 404, 'text/plain; charset=utf-8', 'Not found. This port serves /metrics and /healthz.\n');
  });
  return listen(server, port, host);
}
