import { WebSocket } from 'ws';
import { createLog } from '../../../lib/base/log.ts';
import { openGatewayPlatform, openWorkerPlatform } from '../../../lib/store/platform.ts';
import { serverPlace } from '../../../lib/store/redis/log/keys.ts';
import { makeServers, type SeededServer, seedServer } from '../../harness/seed.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting } from '../setting.ts';

const missed = 1_000;

type BenchBot = SeededServer['bots'][number];
type Where = (typeof nodes)[keyof typeof nodes];

interface Frame {
  op: number;
  t?: string;
  s?: string;
  d: Record<string, unknown>;
}

/** Opens a socket, sends `first` after the hello, and resolves with the socket at the dispatch named `until`. */
function connect(
  url: string,
  first: object,
  until: string,
): Promise<{ socket: WebSocket; d: Record<string, unknown>; s: string | undefined; ms: number }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    let began = 0;
    socket.on('error', reject);
    socket.on('close', (code, reason) => reject(new Error(`closed with ${code} ${reason.toString()} before ${until}`)));
    socket.on('message', (data: Buffer) => {
      if (data.includes('"t":"MESSAGE_CREATE"')) return; // not parsed, because a bot's own work is not measured
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.op === 10) {
        began = performance.now();
        socket.send(JSON.stringify(first));
      } else if (frame.op === 9) reject(new Error('the session was not resumed'));
      else if (frame.t === until) resolve({ socket, d: frame.d, s: frame.s, ms: performance.now() - began });
    });
  });
}

/** The node on which a client resumes: the one that its socket was on, one that serves other members of its servers, or one that serves none of them. */
const nodes = {
  'the node it left': { node: 0, servesOthers: false },
  'a node that serves others there': { node: 1, servesOthers: true },
  'a node that is new there': { node: 1, servesOthers: false },
};

/** Resumes of bots that missed 1,000 events in `places` servers: the time from RESUME to RESUMED, compared with only reading the logs. */
async function resumePlaces(bench: Bench, places: number): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 2, worker: 0 });
  const silent = createLog('bench', 'silent');
  const [worker, gateway] = await Promise.all([openWorkerPlatform(setting.config, silent), openGatewayPlatform(setting.config, silent)]);
  const { readHorizon, recordRelayed } = worker.serverChanges;
  const ignore = { onEntry: () => undefined, onControl: () => undefined, onInterrupted: () => undefined };
  const log = await gateway.openLogReader('bench', ignore);
  /** The time of one resume of a bot in new servers, and the time of only reading their logs. */
  const round = async (bot: BenchBot, other: BenchBot, { node, servesOthers }: Where): Promise<[ours: number, limit: number]> => {
    const members = [bot, other].map(({ id }) => ({ id, bot: true }));
    const servers = await makeServers(
      setting.platform,
      Array.from({ length: places }, () => members),
    );
    // The relay records this before the first message of a server.
    await Promise.all(servers.map(async ({ serverId }) => recordRelayed(serverId, 0, (await readHorizon(serverId)).horizonMs)));
    const otherSession = servesOthers ? await connect(setting.stack.gatewayUrl(node), { op: 2, d: { token: other.token } }, 'READY') : null;
    const { socket, d } = await connect(setting.stack.gatewayUrl(0), { op: 2, d: { token: bot.token } }, 'READY');
    const post = async (n: number): Promise<void> => {
      const { serverId, channelId } = servers[n % places] as { serverId: string; channelId: string };
      const payload = JSON.stringify({ id: worker.ids.next(), channelId, serverId, content: 'x'.repeat(500) });
      await worker.eventLog.append(serverPlace(serverId), [{ id: worker.ids.next(), name: 'MESSAGE_CREATE', payload, channelId }]);
    };
    // The bot first receives one event of each place, as is usual.
    const received = new Promise<string>((resolve) => {
      let count = 0;
      socket.on('message', (data: Buffer) => {
        if (data.includes('"t":"MESSAGE_CREATE"') && ++count === places) resolve(String((JSON.parse(data.toString()) as Frame).s));
      });
    });
    for (let n = 0; n < places; n++) await post(n);
    const s = await received;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.terminate();
    await closed;
    for (let n = 0; n < missed; n++) await post(n);
    const first = { op: 6, d: { token: bot.token, sessionId: String(d.sessionId), seq: s } };
    const resumed = await connect(setting.stack.gatewayUrl(node), first, 'RESUMED');
    resumed.socket.terminate();
    otherSession?.socket.terminate();
    const began = performance.now();
    const found = await log.readLogs(
      0,
      servers.map(({ serverId }) => ({ place: serverPlace(serverId), after: Number(s) })),
    );
    const alone = performance.now() - began;
    const read = found.reduce((sum, { entries }) => sum + entries.length, 0);
    if (read !== missed || resumed.d.replayed !== missed)
      throw new Error(`read ${read} of ${missed}, resumed ${String(resumed.d.replayed)}`);
    return [resumed.ms, alone];
  };
  try {
    const { bots } = await seedServer(setting.platform, { bots: 6 * (bench.rounds + 1), channels: 1 });
    const nextBot = (): BenchBot => bots.shift() as BenchBot;
    const rows: Row[] = [];
    for (const [name, where] of Object.entries(nodes)) {
      const [ours, limit]: [number[], number[]] = [[], []];
      for (let i = 0; i < bench.rounds + 1; i++) {
        const [mine, alone] = await round(nextBot(), nextBot(), where);
        if (i === 0) continue; // the first round warms up
        ours.push(mine);
        limit.push(alone);
      }
      rows.push(multipleRow(`resume of 1,000 missed events in ${places.toLocaleString('en')} places, on ${name}`, 'ms', ours, limit, 2));
    }
    return rows;
  } finally {
    await worker.close();
    await gateway.close();
    await setting.close();
  }
}

/** A resume of 1,000 missed events in 10 and 1,000 places. */
export async function resumeRows(bench: Bench): Promise<Row[]> {
  return [...(await resumePlaces(bench, 10)), ...(await resumePlaces(bench, 1_000))];
}
