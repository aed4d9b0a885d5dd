import type { RawData, WebSocket } from 'ws';
import { limits } from '../../lib/base/limits.ts';
import { readPosition } from '../../lib/store/redis/log/position.ts';
import { removeSocket } from './address-usage.ts';
import { dropSession, refreshSession } from './disconnect.ts';
import { type closeCode, op, plainBytes, readFrame } from './frames.ts';
import { handshake, type Login } from './handshake.ts';
import { GatewaySocket, monotonic } from './state.ts';
import { readWatch, watchAccounts } from './watch.ts';
import { closeSocket, isOpen } from './writer.ts';

const windowMs = 60_000;
const ackBytes = plainBytes({ op: op.ack, d: null });

/** Whether the client has identified or resumed. */
const isReady = ({ stage, session }: GatewaySocket): boolean => stage === 'entered' && session !== null && session.state !== 'connecting';

/** Adds `frames` to the count; true when the socket has sent more frames or bytes in 60 s than allowed. The limits are lower before it has identified. */
function isOverLimit(socket: GatewaySocket, frames: number): boolean {
  const now = monotonic();
  if (now - socket.windowAt >= windowMs) {
    socket.windowAt = now;
    socket.frames = 0;
    socket.bytesBefore = socket.raw.bytesRead;
  }
  socket.frames += frames;
  const live = isReady(socket);
  const bytes = socket.raw.bytesRead - socket.bytesBefore;
  return (
    socket.frames > (live ? limits.gatewayFramesPerMinute : limits.gatewayFramesUnidentified) ||
    bytes > (live ? limits.gatewayBytesPerMinute : limits.gatewayBytesUnidentified)
  );
}

/** How long a socket that sends too much stays open so that the close frame can reach the client, in milliseconds. */
const floodClosingMs = 1_000;

/** Closes a socket that sends too much and stops reading from it, so that further data costs nothing. */
function stopReading(socket: GatewaySocket): void {
  fail(socket, 'tooFast', 'too many frames or bytes in 60 s');
  socket.pause();
  socket.stage = 'closing';
  socket.deadline = Math.min(socket.deadline, monotonic() + floodClosingMs);
}

function fail(socket: GatewaySocket, why: keyof typeof closeCode, reason: string): void {
  if (socket.session) dropSession(socket.node, socket.session, 'wait');
  closeSocket(socket.node, socket, why, reason);
}

function heartbeat(socket: GatewaySocket, d: unknown): void {
  const { node, session } = socket;
  if (d !== null && d !== undefined && !readPosition(d, node.log.partitions))
    return fail(socket, 'badSeq', 'd of a heartbeat is the last s, or null');
  node.writer.write(socket, ackBytes);
  if (!session || session.state === 'connecting') return;
  socket.deadline = monotonic() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  void refreshSession(node, session, d);
}

function login(socket: GatewaySocket, how: 'identify' | 'resume', d: unknown): void {
  if (socket.stage !== 'new') return fail(socket, 'alreadyIdentified', 'already identified');
  const given = (typeof d === 'object' && d !== null ? d : {}) as Login;
  const position = how === 'resume' ? readPosition(given.seq, socket.node.log.partitions) : null;
  if (how === 'resume' && !position) return fail(socket, 'badSeq', 'seq is the last s that was received');
  void handshake(socket.node, socket, given, position);
}

function watch(socket: GatewaySocket, d: unknown): void {
  const { node, session } = socket;
  if (!session || !isReady(socket)) return fail(socket, 'notIdentified', 'not identified yet');
  const ids = readWatch(d);
  if (!ids) return fail(socket, 'badWatch', `watch is a list of at most ${limits.accountsWatched} account ids`);
  watchAccounts(node, session, ids);
}

function onMessage(this: WebSocket, data: RawData, binary: boolean): void {
  if (!(this instanceof GatewaySocket) || !isOpen(this) || !Buffer.isBuffer(data)) return;
  if (isOverLimit(this, 1)) return stopReading(this);
  const frame = readFrame(data, binary);
  if (!frame) return fail(this, 'notObject', 'a frame is a JSON object with an op');
  switch (frame.op) {
    case op.heartbeat:
      return heartbeat(this, frame.d);
    case op.identify:
      return login(this, 'identify', frame.d);
    case op.watch:
      return watch(this, frame.d);
    case op.resume:
      return login(this, 'resume', frame.d);
    default:
      return fail(this, 'unknownOp', 'unknown op');
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
  removeSocket(node, this, !node.closing);
  this.stage = 'closing';
  // The close codes 1000 and 1001 end the session. After any other code it can be resumed.
  if (session) dropSession(node, session, code === 1000 || code === 1001 ? 'end' : 'wait');
}

// `ws` itself closes the socket after a protocol error of the client, such as a frame that is too long or invalid UTF-8.
const onError = (): void => undefined;

/** Starts handling the frames of a client. */
export function handleFrames(socket: GatewaySocket): void {
  socket.windowAt = monotonic();
  socket.bytesBefore = socket.raw.bytesRead;
  socket.raw.on('data', () => onBytes(socket));
  socket.on('message', onMessage);
  socket.on('ping', onPing);
  socket.on('pong', onPong);
  socket.on('close', onClose);
  socket.on('error', onError);
}

/** Closes the sockets whose deadline has passed: they have not identified in time, have sent no heartbeat, or have not answered the close. */
export function closeExpired(sockets: Iterable<GatewaySocket>): void {
  const now = monotonic();
  for (const socket of sockets) {
    if (now < socket.deadline) continue;
    if (isReady(socket)) fail(socket, 'timedOut', 'no heartbeat');
    else if (socket.stage === 'closing') socket.terminate();
    else fail(socket, 'notIdentified', 'not identified in time');
  }
}
