import { plainMessage } from '../../harness/plain-message.ts';
import { seedServer } from '../../harness/seed.ts';
import type { LoadResult } from '../bare/load.ts';
import { type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

const total = 200_000;
const channels = 100;

/** Lists 50 messages of 200,000 in 100 channels, compared with the bare find with the same filter, sort and limit. */
export async function listRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const seeded = await seedServer(setting.platform, { bots: 20, channels });
  const load = await startHelper('load', {});
  const { platform } = setting;
  const { messages } = platform.db;
  try {
    for (let at = 0; at < total; at += 5_000) {
      const batch = Array.from({ length: 5_000 }, (_, n) => ({
        _id: platform.ids.next(),
        channelId: seeded.channelIds[(at + n) % channels] as string,
        serverId: seeded.serverId,
        authorId: seeded.bots[n % 20]?.id as string,
        content: `message ${at + n} of a usual length, as people write them`,
        ...plainMessage,
        createdAt: new Date(),
      }));
      await messages.insertMany(batch);
    }
    const middle = await messages
      .find({ channelId: seeded.channelIds[0] as string }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .skip(1_000)
      .limit(1)
      .toArray();
    const before = middle[0]?._id as string;
    const urls = seeded.channelIds.map((id) => `${setting.stack.apiUrl()}/api/channels/${id}/messages?limit=50&before=${before}`);
    const authorization = `Bot ${seeded.bots[0]?.token}`;
    const ourRound = (clients: number, seconds: number): Promise<LoadResult> =>
      load.ask({ method: 'GET', urls, authorization, clients, seconds });
    const bareRound = async (clients: number, seconds: number): Promise<number> => {
      const began = performance.now();
      let found = 0;
      const client = async (): Promise<void> => {
        for (; performance.now() - began < seconds * 1000; found++) {
          const channelId = seeded.channelIds[found % channels];
          await messages
            .find({ channelId, _id: { $lt: before } } as never)
            .sort({ _id: -1 })
            .limit(50)
            .toArray();
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
      return found / ((performance.now() - began) / 1000);
    };
    const rows: Row[] = [];
    for (const clients of [1, 8]) {
      await ourRound(clients, 1);
      await bareRound(clients, 1);
      const [ours, limit]: [number[], number[]] = [[], []];
      for (let i = 0; i < bench.rounds; i++) {
        const mine = await ourRound(clients, bench.seconds);
        if (mine.failed) throw new Error(`${mine.failed} lists failed`);
        ours.push(mine.perSecond);
        limit.push(await bareRound(clients, bench.seconds));
      }
      rows.push(shareRow(`list 50 messages of 200,000, ${clients} client${clients > 1 ? 's' : ''}`, 'requests/s', ours, limit, 0.6));
    }
    return rows;
  } finally {
    await load.close();
    await setting.close();
  }
}
