import { connectBot } from '../../harness/bot-client.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import type { FloodAsk } from '../bare/flood.ts';
import { aboveRow, percentile, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';
import { paced } from './latency.ts';

const postsPerSec = 50;
const floodingSockets = 4;

/** A bot that measures the time from the request of a message to its event. */
export interface Probe {
  /** Posts for some seconds, and returns the p99, in milliseconds. */
  round(seconds: number): Promise<number>;
  close(): Promise<void>;
}

/** Connects the first bot of a server as a probe. */
export async function connectProbe({ stack }: Setting, { bots: [bot], channelIds }: SeededServer): Promise<Probe> {
  if (!bot) throw new Error('no bot');
  let onContent: (content: string) => void = () => undefined;
  const client = connectBot({ urlOf: () => stack.gatewayUrl(), token: bot.token, onEvent: ({ d }) => onContent(String(d.content)) });
  const url = `${stack.apiUrl()}/api/channels/${channelIds[0]}/messages`;
  const headers = { 'Content-Type': 'application/json', Authorization: `Bot ${bot.token}` };
  await client.ready;
  return {
    async round(seconds) {
      const count = postsPerSec * seconds;
      const latencies: number[] = [];
      const allReceived = new Promise<void>((resolve) => {
        onContent = (content) => {
          latencies.push(performance.now() - Number(content));
          if (latencies.length === count) resolve();
        };
      });
      await paced(count, postsPerSec, () => {
        const body = JSON.stringify({ content: String(performance.now()) });
        void fetch(url, { method: 'POST', headers, body }).then((response) => response.arrayBuffer());
      });
      await allReceived;
      return percentile(latencies, 0.99);
    },
    close: () => client.close(),
  };
}

/** The p99 time from the request of a message to its event at a bot while four sockets flood the gateway with pongs, compared with the same without them. */
export async function gatewayFloodRow(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 });
  const flood = await startHelper('flood', setting.env);
  const probe = await connectProbe(setting, await seedServer(setting.platform, { bots: 1, channels: 1 }));
  const ask = (sockets: number): Promise<unknown> =>
    flood.ask({ port: Number(new URL(setting.stack.gatewayUrl()).port), sockets } satisfies FloodAsk);
  try {
    await probe.round(1);
    const [flooded, quiet]: [number[], number[]] = [[], []];
    for (let i = 0; i < bench.rounds; i++) {
      quiet.push(await probe.round(bench.seconds));
      await ask(floodingSockets);
      flooded.push(await probe.round(bench.seconds));
      await ask(0);
    }
    return [aboveRow(`POST → event while ${floodingSockets} sockets flood pongs, p99`, 'ms', flooded, quiet, 100)];
  } finally {
    await flood.close();
    await probe.close();
    await setting.close();
  }
}
