import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { readClientAddress } from '../../lib/base/client-address.ts';
import { delayRefusal } from '../../lib/base/delay-refusal.ts';
import { httpTimeouts } from '../../lib/base/http-server.ts';
import { limits } from '../../lib/base/limits.ts';
import { closeCodes } from '../../lib/contract/close-codes.ts';
import { opcodes } from '../../lib/contract/gateway.ts';
import { addUnidentifiedSocket, isAddressFull, removeUnidentifiedSocket } from './address-usage.ts';
import { handleFrames } from './frame-handler.ts';
import { encodeControl } from './frames.ts';
import { type GatewayNode, GatewaySocket, monotonicMs } from './state.ts';

/** The path and query of a request; null when they cannot be parsed. */
const parseUrl = (request: IncomingMessage): URL | null => {
  const url = request.url ?? '/';
  return URL.canParse(url, 'http://gateway') ? new URL(url, 'http://gateway') : null;
};

/**
 * The session token from the cookie, or null. Null also if there is an `Origin` other than Parlance's own, because a page of another origin can make a browser
 * open a socket with the cookie.
 */
function readSessionCookie({ headers }: IncomingMessage, baseUrl: string): string | null {
  if (headers.origin !== undefined && headers.origin !== new URL(baseUrl).origin) return null;
  const cookies = headers.cookie ?? '';
  // Under https the name has a prefix (docs/behavior/requests.md#session-cookie). Sessions of the version before have none.
  const prefixed = baseUrl.startsWith('https:') ? /(?:^|;\s*)__Host-parlance_session=([^;\s]+)/.exec(cookies) : null;
  return (prefixed ?? /(?:^|;\s*)parlance_session=([^;\s]+)/.exec(cookies))?.[1] ?? null;
}

function rejectUpgrade(socket: Socket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function startSocket(node: GatewayNode, socket: GatewaySocket, tcpSocket: Socket, request: IncomingMessage): void {
  const { config } = node.platform;
  socket.node = node;
  socket.tcpSocket = tcpSocket;
  socket.deadlineMs = monotonicMs() + limits.gatewayIdentifyMs;
  socket.cookieToken = readSessionCookie(request, config.baseUrl);
  node.sockets.add(socket);
  handleFrames(socket);
  node.writer.write(socket, encodeControl({ op: opcodes.hello.code, d: { heartbeatIntervalMs: config.HEARTBEAT_INTERVAL_MS } }));
}

function refuseVersion(node: GatewayNode, socket: GatewaySocket): void {
  node.metrics.closes.inc({ code: String(closeCodes.badVersion.code) });
  removeUnidentifiedSocket(node, socket, true);
  socket.on('error', ignoreError);
  socket.close(closeCodes.badVersion.code, 'This version is not supported: use v=1.');
}

/** Ignores errors of a connection, which close it anyway. Declared here, because a closure created for each upgrade would keep its request in memory. */
const ignoreError = (): void => undefined;

/** Creates the node's HTTP server, which does not listen yet. It accepts upgrades on any path and `GET /healthz`; everything else gets 426. */
export function createUpgradeServer(node: GatewayNode): Server {
  const webSocketServer = new WebSocketServer({
    noServer: true,
    WebSocket: GatewaySocket,
    clientTracking: false,
    maxPayload: limits.gatewayFrameBytes,
    maxFragments: limits.gatewayFragments,
    autoPong: false, // pings are counted before they are answered
    perMessageDeflate: false,
  });
  const server = createServer({ ...httpTimeouts, requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    const isHealthCheck = request.method === 'GET' && parseUrl(request)?.pathname === '/healthz';
    response.writeHead(isHealthCheck ? 200 : 426, { 'Content-Type': 'text/plain' });
    response.end(isHealthCheck ? 'ok\n' : 'This is a WebSocket gateway.\n');
  });
  server.on('upgrade', (request: IncomingMessage, tcpSocket: Socket, head: Buffer) => {
    tcpSocket.on('error', ignoreError);
    const address = readClientAddress(request, node.platform.config.TRUST_PROXY);
    const url = parseUrl(request);
    if (node.isDraining || !url) return rejectUpgrade(tcpSocket, url ? '503 Service Unavailable' : '400 Bad Request');
    if (isAddressFull(node, address)) return void delayRefusal().then(() => rejectUpgrade(tcpSocket, '429 Too Many Requests'));
    webSocketServer.handleUpgrade(request, tcpSocket, head, (socket) => {
      tcpSocket.off('error', ignoreError); // the WebSocket has its own listener now
      addUnidentifiedSocket(node, socket, address);
      if ((url.searchParams.get('v') ?? '1') === '1') startSocket(node, socket, tcpSocket, request);
      else refuseVersion(node, socket);
    });
  });
  return server;
}
