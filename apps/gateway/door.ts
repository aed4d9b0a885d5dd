import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { clientAddress } from '../../lib/base/client-address.ts';
import { limits } from '../../lib/base/limits.ts';
import { closeCode, op, plainBytes } from './frames.ts';
import { listenTo } from './inbox.ts';
import { type GatewayNode, GatewaySocket, monotonic } from './state.ts';

/** Unidentified sockets that one address may have on a node. */
const strangersPerAddress = 200;

/** Path and query of a request; null when they cannot be read. */
const urlOf = (request: IncomingMessage): URL | null => {
  const url = request.url ?? '/';
  return URL.canParse(url, 'http://gateway') ? new URL(url, 'http://gateway') : null;
};

/**
 * The session token of the cookie, or null. A page of another origin can make a browser open a socket with our cookie, so an `Origin` must be ours
 * (decisions 3).
 */
function cookieOf({ headers }: IncomingMessage, baseUrl: string): string | null {
  if (headers.origin !== undefined && headers.origin !== new URL(baseUrl).origin) return null;
  return /(?:^|;\s*)parlance_session=([^;\s]+)/.exec(headers.cookie ?? '')?.[1] ?? null;
}

function turnAway(socket: Socket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function welcome(node: GatewayNode, socket: GatewaySocket, raw: Socket, request: IncomingMessage, address: string): void {
  const { config } = node.platform;
  socket.node = node;
  socket.raw = raw;
  socket.deadline = monotonic() + limits.gatewayIdentifyMs;
  socket.cookie = cookieOf(request, config.baseUrl);
  socket.address = address;
  node.strangers.set(address, (node.strangers.get(address) ?? 0) + 1);
  node.sockets.add(socket);
  node.metrics.sockets.inc({ kind: 'unidentified' });
  listenTo(socket);
  node.outlet.write(socket, plainBytes({ op: op.hello, d: { heartbeatIntervalMs: config.HEARTBEAT_INTERVAL_MS } }));
}

function refuseVersion(node: GatewayNode, socket: GatewaySocket): void {
  node.metrics.closes.inc({ code: String(closeCode.badVersion) });
  socket.on('error', () => undefined);
  socket.close(closeCode.badVersion, 'this gateway speaks v=1');
}

/** The node's HTTP server: upgrades on any path, `GET /healthz`, nothing else. Not yet listening. */
export function createDoor(node: GatewayNode): Server {
  const sockets = new WebSocketServer({
    noServer: true,
    WebSocket: GatewaySocket,
    clientTracking: false,
    maxPayload: limits.gatewayFrameBytes,
    perMessageDeflate: false,
  });
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    const healthy = request.method === 'GET' && urlOf(request)?.pathname === '/healthz';
    response.writeHead(healthy ? 200 : 426, { 'Content-Type': 'text/plain' });
    response.end(healthy ? 'ok\n' : 'This is a WebSocket gateway.\n');
  });
  server.on('upgrade', (request: IncomingMessage, raw: Socket, head: Buffer) => {
    raw.on('error', () => undefined);
    const address = clientAddress(request.headers['x-forwarded-for']?.toString(), raw.remoteAddress, node.platform.config.TRUST_PROXY);
    const url = urlOf(request);
    if (node.closing || !url) return turnAway(raw, url ? '503 Service Unavailable' : '400 Bad Request');
    if ((node.strangers.get(address) ?? 0) >= strangersPerAddress) return turnAway(raw, '429 Too Many Requests');
    sockets.handleUpgrade(request, raw, head, (socket) => {
      if ((url.searchParams.get('v') ?? '1') === '1') welcome(node, socket, raw, request, address);
      else refuseVersion(node, socket);
    });
  });
  return server;
}
