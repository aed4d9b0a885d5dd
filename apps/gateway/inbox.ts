import type { RawData, WebSocket } from 'ws';
import { limits } from '../../lib/base/limits.ts';
import { removeSocket } from './address-usage.ts';
import { enter, type Login } from './enter.ts';
import { type closeCode, isSeq, op, plainBytes, readFrame } from './frames.ts';
import { drop } from './leave.ts';
import { closeSocket, isOpen } from './outlet.ts';
import { checkPosition } from './replay.ts';
import { GatewaySocket, monotonic } from './state.ts';

const windowMs = 60_000;
const ackBytes = plainBytes({ op: op.ack, d: null });

/** Counts `frames` more, and all bytes received; true when the socket has sent more in 60 s than it may. Until it has identified it may send little. */
function isOverLimit(socket: GatewaySocket, frames: number): boolean {
  const now = monotonic();
  if (now - socket.windowAt >= windowMs) {
    socket.windowAt = now;
    socket.frames = 0;
    socket.bytesBefore = socket.raw.bytesRead;
  }
  socket.frames += frames;
  const live = socket.stage === 'live';
  const bytes = socket.raw.bytesRead - socket.bytesBefore;
  return (
    socket.frames > (live ? limits.gatewayFramesPerMinute : limits.gatewayFramesUnidentified) ||
    bytes > (live ? limits.gatewayBytesPerMinute : limits.gatewayBytesUnidentified)
  );
}

/** How long a socket that sends too much stays open for its close frame to arrive, in milliseconds. */
const floodClosingMs = 1_000;

/** Closes a socket that sends too much. Nothing more is read from it: what it still sends costs nothing. */
function stopReading(socket: GatewaySocket): void {
  fail(socket, 'tooFast', 'too many frames or bytes in 60 s');
  socket.pause();
  socket.stage = 'closing';
  socket.deadline = Math.min(socket.deadline, monotonic() + floodClosingMs);
}

function fail(socket: GatewaySocket, why: keyof typeof closeCode, reason: string): void {
  if (socket.session) drop(socket.node, socket.session, 'wait');
  closeSocket(socket.node, socket, why, reason);
}

function heartbeat(socket: GatewaySocket, d: unknown): void {
  if (d !== null && d !== undefined && !isSeq(d)) return fail(socket, 'badSeq', 'd of a heartbeat is the last s, or null');
  const { node, session } = socket;
  node.outlet.write(socket, ackBytes);
  if (!session?.ready) return;
  socket.deadline = monotonic() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  void checkPosition(node, session);
}

function login(socket: GatewaySocket, how: 'identify' | 'resume', d: unknown): void {
  if (socket.stage !== 'new') return fail(socket, 'alreadyIdentified', 'already identified');
  const given = (typeof d === 'object' && d !== null ? d : {}) as Login;
  if (how === 'resume' && !isSeq(given.seq)) return fail(socket, 'badSeq', 'seq is a whole number from 0');
  void enter(socket.node, socket, how, given);
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

/** Counts bytes that belong to no whole frame yet, and those of a socket that is being closed for another reason. */
function onBytes(socket: GatewaySocket): void {
  if (!socket.isPaused && isOverLimit(socket, 0)) stopReading(socket);
}

function onClose(this: WebSocket, code: number): void {
  if (!(this instanceof GatewaySocket)) return;
  const { node, session } = this;
  node.sockets.delete(this);
  removeSocket(node, this, !node.closing);
  this.stage = 'closing';
  // 1000 and 1001 from the client end its session; anything else leaves it resumable (decisions 7).
  if (session) drop(node, session, code === 1000 || code === 1001 ? 'end' : 'wait');
}

// Faults of a peer (a frame too long, broken text) close its socket by themselves.
const onError = (): void => undefined;

/** Listens to a client. */
export function listenTo(socket: GatewaySocket): void {
  socket.windowAt = monotonic();
  socket.bytesBefore = socket.raw.bytesRead;
  socket.raw.on('data', () => onBytes(socket));
  socket.on('message', onMessage);
  socket.on('ping', onPing);
  socket.on('pong', onPong);
  socket.on('close', onClose);
  socket.on('error', onError);
}

/** Closes the sockets whose deadline has passed: not identified in time, not heard from, or still there after their close. */
export function sweep(sockets: Iterable<GatewaySocket>): void {
  const now = monotonic();
  for (const socket of sockets) {
    if (now < socket.deadline) continue;
    if (socket.stage === 'live') fail(socket, 'timedOut', 'no heartbeat');
    else if (socket.stage === 'closing') socket.terminate();
    else fail(socket, 'notIdentified', 'not identified in time');
  }
}
