import type { RawData, WebSocket } from 'ws';
import { limits } from '../../lib/base/limits.ts';
import { type CloseCodeName } from '../../lib/contract/close-codes.ts';
import { opcodes } from '../../lib/contract/gateway.ts';
import { readPosition } from '../../lib/store/redis/log/position.ts';
import { removeUnidentifiedSocket } from './address-usage.ts';
import { dropSession, refreshSession } from './disconnect.ts';
import { encodeControl, readFrame } from './frames.ts';
import { handshake } from './handshake.ts';
import { type Login, readLogin, toUnknownOpReason } from './login.ts';
import { GatewaySocket, monotonicMs } from './state.ts';
import { readWatchedIds, watchAccounts } from './watch.ts';
import { closeSocket, isOpen } from './writer.ts';

const windowMs = 60_000;
const ackBytes = encodeControl({ op: opcodes.ack.code, d: null });

/** Whether the client has identified or resumed. */
const isReady = ({ stage, session }: GatewaySocket): boolean =>
  stage === 'identifyReceived' && session !== null && session.state !== 'connecting';

/** Adds `newFrames` to the count; true when the socket has sent more frames or bytes in 60 s than allowed. The limits are lower before it has identified. */
function isOverLimit(socket: GatewaySocket, newFrames: number): boolean {
  const now = monotonicMs();
  if (now - socket.windowStartMs >= windowMs) {
    socket.windowStartMs = now;
    socket.frameCount = 0;
    socket.bytesAtWindowStart = socket.tcpSocket.bytesRead;
  }
  socket.frameCount += newFrames;
  const isIdentified = isReady(socket);
  const newBytes = socket.tcpSocket.bytesRead - socket.bytesAtWindowStart;
  return (
    socket.frameCount > (isIdentified ? limits.gatewayFramesPerMinute : limits.gatewayFramesUnidentified) ||
    newBytes > (isIdentified ? limits.gatewayBytesPerMinute : limits.gatewayBytesUnidentified)
  );
}

/** How long a socket that sends too much stays open so that the close frame can reach the client, in milliseconds. */
const floodCloseTimeoutMs = 1_000;

/** Closes a socket that sends too much and stops reading from it, so that further data costs nothing. */
function stopReading(socket: GatewaySocket): void {
  closeWithError(socket, 'tooFast', 'The client sent too many frames or bytes in 60 s.');
  socket.pause();
  socket.stage = 'closing';
  socket.deadlineMs = Math.min(socket.deadlineMs, monotonicMs() + floodCloseTimeoutMs);
}

function closeWithError(socket: GatewaySocket, code: CloseCodeName, reason: string): void {
  if (socket.session) dropSession(socket.node, socket.session, 'suspend');
  closeSocket(socket.node, socket, code, reason);
}

function handleHeartbeat(socket: GatewaySocket, data: unknown): void {
  const { node, session } = socket;
  if (data !== null && data !== undefined && !readPosition(data, node.eventLog.partitions))
    return closeWithError(socket, 'badSeq', 'd of a heartbeat must be the last s that you received, or null.');
  node.writer.write(socket, ackBytes);
  if (!session || session.state === 'connecting') return;
  socket.deadlineMs = monotonicMs() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  void refreshSession(node, session, data);
}

function startHandshake(socket: GatewaySocket, kind: Login['kind'], data: unknown): void {
  if (socket.stage !== 'new')
    return closeWithError(socket, 'alreadyIdentified', 'The client has already identified or resumed on this socket.');
  const login = readLogin(kind, data, { cookieToken: socket.cookieToken, partitions: socket.node.eventLog.partitions });
  if ('reason' in login) return closeWithError(socket, login.code, login.reason);
  void handshake(socket.node, socket, login);
}

function handleWatch(socket: GatewaySocket, data: unknown): void {
  const { node, session } = socket;
  if (!session || !isReady(socket)) return closeWithError(socket, 'notIdentified', 'Identify or resume before you send a watch list.');
  const ids = readWatchedIds(data);
  if (!ids) return closeWithError(socket, 'badWatch', `watch must be a list of at most ${limits.accountsWatched} account ids.`);
  watchAccounts(node, session, ids);
}

function onMessage(this: WebSocket, bytes: RawData, isBinary: boolean): void {
  if (!(this instanceof GatewaySocket) || !isOpen(this) || !Buffer.isBuffer(bytes)) return;
  if (isOverLimit(this, 1)) return stopReading(this);
  const frame = readFrame(bytes, isBinary);
  if (typeof frame === 'string') return closeWithError(this, 'badFrame', frame);
  switch (frame.op) {
    case opcodes.heartbeat.code:
      return handleHeartbeat(this, frame.d);
    case opcodes.identify.code:
      return startHandshake(this, 'identify', frame.d);
    case opcodes.watch.code:
      return handleWatch(this, frame.d);
    case opcodes.resume.code:
      return startHandshake(this, 'resume', frame.d);
    default:
      return closeWithError(this, 'unknownOp', toUnknownOpReason(frame.op));
  }
}

function onPing(this: WebSocket, data: Buffer): void {
  if (!(this instanceof GatewaySocket) || !isOpen(this)) return;
  if (isOverLimit(this, 1)) stopReading(this);
  else this.pong(data);
}

function onPong(this: WebSocket): void {
  if (this instanceof GatewaySocket && isOpen(this) && isOverLimit(this, 1)) stopReading(this);
}

/** Counts bytes as they arrive, so that incomplete frames count, and also what a socket sends while it is being closed for another reason. */
function onBytes(socket: GatewaySocket): void {
  if (!socket.isPaused && isOverLimit(socket, 0)) stopReading(socket);
}

function onClose(this: WebSocket, code: number): void {
  if (!(this instanceof GatewaySocket)) return;
  const { node, session } = this;
  node.sockets.delete(this);
  removeUnidentifiedSocket(node, this, !node.isDraining);
  this.stage = 'closing';
  // The close codes 1000 and 1001 end the session. After any other code it can be resumed.
  if (session) dropSession(node, session, code === 1000 || code === 1001 ? 'end' : 'suspend');
}

// `ws` itself closes the socket after a protocol error of the client, such as a frame that is too long or invalid UTF-8.
const onError = (): void => undefined;

/** Starts handling the frames of a client. */
export function handleFrames(socket: GatewaySocket): void {
  socket.windowStartMs = monotonicMs();
  socket.bytesAtWindowStart = socket.tcpSocket.bytesRead;
  socket.tcpSocket.on('data', () => onBytes(socket));
  socket.on('message', onMessage);
  socket.on('ping', onPing);
  socket.on('pong', onPong);
  socket.on('close', onClose);
  socket.on('error', onError);
}

/** Closes the sockets whose deadline has passed: they have not identified in time, have sent no heartbeat, or have not answered the close. */
export function closeExpired(sockets: Iterable<GatewaySocket>): void {
  const now = monotonicMs();
  for (const socket of sockets) {
    if (now < socket.deadlineMs) continue;
    if (isReady(socket)) closeWithError(socket, 'timedOut', 'No heartbeat was received in time.');
    else if (socket.stage === 'closing') socket.terminate();
    else closeWithError(socket, 'notIdentified', 'The client did not identify in time.');
  }
}
