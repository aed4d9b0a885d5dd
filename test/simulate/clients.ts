import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { atRandomTimes, type Call, paced, pick, send, sendMany } from './calls.ts';

/** Something that happens at random times: requests, or sessions of a group that resume on one of `urls`, or that end and begin again there. */
export type Act = { name: string; perSec: number } & (
  | { kind: 'calls'; calls: Call[]; order: 'turn' | 'random' }
  | { kind: 'resume' | 'restart'; group: string; urls: string[] }
);

/** Requests to this process. All are answered when they are done. */
export type ClientsAsk =
  | { kind: 'connect'; group: string; urls: string[]; tokens: string[]; perSec: number; watches?: string[][] }
  | { kind: 'cut'; group: string }
  | { kind: 'resume'; group: string; urls: string[]; perSec: number }
  | { kind: 'end'; group: string }
  | { kind: 'heartbeat'; ms: number }
  | { kind: 'warm'; calls: Call[][]; count: number }
  | { kind: 'act'; acts: Act[]; seconds: number };

/** What happened during the acts, by their names, how many of them failed, and what all sessions received meanwhile. */
export interface Acted {
  done: Record<string, number>;
  failed: Record<string, number>;
  seconds: number;
  frames: number;
  bytes: number;
  replayed: number;
  heartbeats: number;
}

interface Session {
  token: string;
  watch: string[] | undefined;
  socket: WebSocket | null;
  id: string;
  position: string | null;
  heartbeat: NodeJS.Timeout | undefined;
  isReopening: boolean;
}

interface Frame {
  op: number;
  t?: string;
  s?: string;
  d: { sessionId?: string; replayed?: number } | null;
}

const groups = new Map<string, Session[]>();
const totals = { frames: 0, bytes: 0, replayed: 0, heartbeats: 0 };
let heartbeatMs = 20_000;
let addresses = 0;
const groupOf = (name: string): Session[] => groups.get(name) ?? [];

function beat(session: Session): void {
  clearTimeout(session.heartbeat);
  const sendHeartbeat = (): void => {
    totals.heartbeats++;
    session.socket?.send(JSON.stringify({ op: 1, d: session.position }));
    session.heartbeat = setTimeout(sendHeartbeat, heartbeatMs);
  };
  session.heartbeat = setTimeout(sendHeartbeat, Math.random() * heartbeatMs);
}

/** Opens a socket for a session, and resolves when it has received READY or RESUMED. */
function open(session: Session, url: string, kind: 'identify' | 'resume'): Promise<void> {
  return new Promise((resolve, reject) => {
    // Each client has its own address, because limits by address are not measured here.
    const address = `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses++ & 255}`;
    const socket = new WebSocket(url, { perMessageDeflate: false, headers: { 'X-Forwarded-For': address } });
    session.socket = socket;
    let ready = false;
    const fail = (reason: string): void => {
      if (session.socket !== socket) return; // it was closed here
      if (ready) throw new Error(`a session was lost: ${reason}`);
      reject(new Error(reason));
    };
    socket.on('error', (error) => fail(error.message));
    socket.on('close', (code) => fail(`closed with ${code}`));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.op === 0) session.position = String(frame.s);
      if (ready) {
        if (frame.op !== 0) return;
        totals.frames++;
        totals.bytes += data.length + (data.length < 126 ? 2 : 4);
        return;
      }
      const { token, id: sessionId, position: seq } = session;
      if (frame.op === 10)
        socket.send(JSON.stringify(kind === 'resume' ? { op: 6, d: { token, sessionId, seq } } : { op: 2, d: { token } }));
      else if (frame.op === 9) fail('the session was not resumed');
      else if (frame.t === 'READY' || frame.t === 'RESUMED') {
        ready = true;
        if (frame.t === 'READY') session.id = String(frame.d?.sessionId);
        totals.replayed += frame.d?.replayed ?? 0;
        if (session.watch) socket.send(JSON.stringify({ op: 3, d: { watch: session.watch } }));
        beat(session);
        resolve();
      }
    });
  });
}

/** Closes the socket of a session: with 1000, which ends it, or without a closing handshake. */
async function leave(session: Session, how: 'end' | 'cut'): Promise<void> {
  const { socket } = session;
  session.socket = null;
  clearTimeout(session.heartbeat);
  if (!socket) return;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (how === 'end') socket.close(1000);
  else socket.terminate();
  await closed;
}

async function reopen(session: Session | undefined, url: string, kind: 'resume' | 'restart'): Promise<void> {
  if (!session || session.isReopening) return;
  session.isReopening = true;
  try {
    await leave(session, kind === 'resume' ? 'cut' : 'end');
    await open(session, url, kind === 'resume' ? 'resume' : 'identify');
  } finally {
    session.isReopening = false;
  }
}

function runAct(act: Act, seconds: number): Promise<{ done: number; failed: number }> {
  const { perSec } = act;
  if (act.kind === 'calls')
    return atRandomTimes(perSec, seconds, (n) => send(act.order === 'turn' ? (act.calls[n % act.calls.length] as Call) : pick(act.calls)));
  const { kind, group, urls } = act;
  return atRandomTimes(perSec, seconds, () => reopen(pick(groupOf(group)), pick(urls), kind));
}

/** How long no event may have come, and how long to wait for that, in milliseconds. On a busy machine events come seconds after their posts. */
const [silenceMs, longestWaitMs] = [500, 10_000];

/** Waits until all events of the acts so far have come. */
async function waitForSilence(): Promise<void> {
  const endMs = performance.now() + longestWaitMs;
  for (let frames = -1; frames !== totals.frames && performance.now() < endMs; await sleep(silenceMs)) frames = totals.frames;
}

async function answer(ask: ClientsAsk): Promise<Acted | 'done'> {
  const urlAt = (urls: readonly string[], at: number): string => urls[at % urls.length] as string;
  switch (ask.kind) {
    case 'connect': {
      const created = ask.tokens.map(
        (token, at): Session => ({
          token,
          watch: ask.watches?.[at],
          socket: null,
          id: '',
          position: null,
          heartbeat: undefined,
          isReopening: false,
        }),
      );
      groups.set(ask.group, [...groupOf(ask.group), ...created]);
      await paced(created, ask.perSec, (session, at) => open(session, urlAt(ask.urls, at), 'identify'));
      return 'done';
    }
    case 'cut':
      await Promise.all(groupOf(ask.group).map((session) => leave(session, 'cut')));
      return 'done';
    case 'resume':
      await paced(groupOf(ask.group), ask.perSec, (session, at) => reopen(session, urlAt(ask.urls, at), 'resume'));
      return 'done';
    case 'end':
      await Promise.all(groupOf(ask.group).map((session) => leave(session, 'end')));
      groups.delete(ask.group);
      return 'done';
    case 'heartbeat':
      heartbeatMs = ask.ms;
      for (const session of [...groups.values()].flat()) beat(session);
      return 'done';
    case 'warm':
      await sendMany(ask.calls, ask.count);
      return 'done';
    case 'act': {
      const before = { ...totals };
      const began = performance.now();
      const ended = await Promise.all(ask.acts.map(async (act) => [act.name, await runAct(act, ask.seconds)] as const));
      if (ask.acts.length === 0) await sleep(ask.seconds * 1000);
      await waitForSilence();
      return {
        done: Object.fromEntries(ended.map(([name, { done }]) => [name, done])),
        failed: Object.fromEntries(ended.map(([name, { failed }]) => [name, failed])),
        seconds: (performance.now() - began) / 1000,
        frames: totals.frames - before.frames,
        bytes: totals.bytes - before.bytes,
        replayed: totals.replayed - before.replayed,
        heartbeats: totals.heartbeats - before.heartbeats,
      };
    }
  }
}

process.on('message', (ask: ClientsAsk) => {
  answer(ask).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.send?.('ready');
