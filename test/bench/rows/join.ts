import { WebSocket } from 'ws';
import { fillServer, giveTokens, seedServer } from '../../harness/seed.ts';
import { openCounted, type StoreCost } from '../counted.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, startHelper } from '../setting.ts';

const sizes = [50, 5_000] as const;
const joins = 20;
/** A bot that calls `onJoin` at each MEMBER_ADD. */
function connectWitness(url: string, token: string, onJoin: () => void): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { op: number; t?: string };
      if (frame.op === 10) socket.send(JSON.stringify({ op: 2, d: { token, events: ['MEMBER_ADD'] } }));
      else if (frame.t === 'READY') resolve(socket);
      else if (frame.t === 'MEMBER_ADD') onJoin();
    });
  });
}

/** The cost of a join with `online` members online, for each round. */
async function costsWith(bench: Bench, online: number): Promise<StoreCost[]> {
  const { platform, apiUrl, gatewayUrl, costOf, close } = await openCounted(bench);
  const swarm = await startHelper('swarm', {});
  const sockets: WebSocket[] = [];
  try {
    const seeded = await seedServer(platform, { bots: 1, channels: 1 });
    const lobby = await seedServer(platform, { bots: 0, channels: 1 });
    const members = await fillServer(platform, seeded.serverId, online, 'member');
    const newcomers = await giveTokens(platform, await fillServer(platform, lobby.serverId, (bench.rounds + 1) * joins, 'newcomer'));
    await swarm.ask({ kind: 'connect', urls: [gatewayUrl], tokens: await giveTokens(platform, members) });
    let joined = (): void => undefined;
    sockets.push(await connectWitness(gatewayUrl, seeded.bots[0]?.token ?? '', () => joined()));
    const post = async (path: string, token: string): Promise<{ code: string }> => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const answer = await fetch(apiUrl + path, { method: 'POST', headers, body: '{}' });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { code: string };
    };
    const { code } = await post(`/servers/${seeded.serverId}/invites`, seeded.ownerToken);
    const join = async (): Promise<void> => {
      const arrived = new Promise<void>((resolve) => {
        joined = resolve;
      });
      await post(`/invites/${code}`, newcomers.pop() ?? '');
      await arrived;
    };
    const costs: StoreCost[] = [];
    for (let round = 0; round <= bench.rounds; round++) {
      const cost = await costOf(joins, async () => {
        for (let n = 0; n < joins; n++) await join();
      });
      if (round > 0) costs.push(cost); // the first round warms up
    }
    return costs;
  } finally {
    for (const socket of sockets) socket.terminate();
    await swarm.close();
    await close();
  }
}

/** The cost of one join for the stores in a server with 5,000 members online, compared with 50. */
export async function joinRows(bench: Bench): Promise<Row[]> {
  const [few, many] = [await costsWith(bench, sizes[0]), await costsWith(bench, sizes[1])];
  const name = `one join, ${sizes[1].toLocaleString('en')} online compared with ${sizes[0]}`;
  const of = (costs: readonly StoreCost[], what: keyof StoreCost): number[] => costs.map((cost) => cost[what]);
  return [
    multipleRow(`${name}: reads of the database`, 'reads', of(many, 'reads'), of(few, 'reads'), 1.1),
    multipleRow(`${name}: commands of Redis`, 'commands', of(many, 'commands'), of(few, 'commands'), 1.1),
  ];
}
