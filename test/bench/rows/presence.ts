import { WebSocket } from 'ws';
import { fillServer, giveTokens, seedServer } from '../../harness/seed.ts';
import { figure, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const online = 5_000;
const watchers = 50;
const changes = 4;
/** How long to wait for unexpected frames after a change has arrived, in milliseconds. */
const extraWaitMs = 500;

interface Watcher {
  /** How many frames about the watched account arrived. */
  frames: number;
  socket: WebSocket;
}

/** Opens a session that watches an account; resolves when the gateway has confirmed it. Calls `onFrame` at each presence update. */
function watch(url: string, token: string, accountId: string, onFrame: () => void): Promise<Watcher> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    const watcher: Watcher = { frames: 0, socket };
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { op: number; t?: string };
      if (frame.op === 10) socket.send(JSON.stringify({ op: 2, d: { token } }));
      else if (frame.t === 'READY') socket.send(JSON.stringify({ op: 3, d: { watch: [accountId] } }));
      else if (frame.op === 3) resolve(watcher);
      else if (frame.t === 'PRESENCE_UPDATE') {
        watcher.frames++;
        onFrame();
      }
    });
  });
}

async function setStatus(setting: Setting, token: string, status: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const url = `${setting.stack.apiUrl()}/api/users/@me/presence`;
  const answer = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ status }) });
  if (!answer.ok) throw new Error(`presence: ${answer.status}`);
  await answer.arrayBuffer();
}

/** How many frames one presence change causes in a server with 5,000 members online, of whom 50 watch the account. */
export async function presenceRow(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 }, { HEARTBEAT_INTERVAL_MS: '300000' });
  const swarm = await startHelper('swarm', {});
  const watching: Watcher[] = [];
  try {
    const { serverId } = await seedServer(setting.platform, { bots: 0, channels: 1 });
    const people = await fillServer(setting.platform, serverId, online);
    const [subject = '', ...tokens] = await giveTokens(setting.platform, people);
    const url = setting.stack.gatewayUrl();
    await swarm.ask({ kind: 'connect', urls: [url], tokens: [subject, ...tokens.slice(watchers)] });
    let frames = 0;
    let arrived = (): void => undefined;
    const onFrame = (): void => {
      if (++frames === watchers) arrived();
    };
    for (const token of tokens.slice(0, watchers)) watching.push(await watch(url, token, people[0] ?? '', onFrame));
    const counted: number[] = [];
    for (let i = 0; i < bench.rounds * changes; i++) {
      frames = 0;
      await swarm.ask({ kind: 'expect', events: Number.MAX_SAFE_INTEGER });
      const all = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      await setStatus(setting, subject, i % 2 === 0 ? 'idle' : 'online');
      await all;
      await new Promise((resolve) => setTimeout(resolve, extraWaitMs));
      counted.push(frames + (await swarm.ask<number>({ kind: 'seen' })));
    }
    const ours = figure(counted);
    return [
      {
        name: `presence change, ${online.toLocaleString('en')} online, ${watchers} watchers`,
        unit: 'frames',
        ours,
        limit: figure([watchers]),
        result: `${ours.spread[1]} frames`,
        aim: `${watchers} frames`,
        met: ours.spread[0] === watchers && ours.spread[1] === watchers,
      },
    ];
  } finally {
    for (const { socket } of watching) socket.terminate();
    await swarm.close();
    await setting.close();
  }
}
