import { setTimeout as sleep } from 'node:timers/promises';
import { insertMissing } from '../../../lib/store/mongo/insert.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import { serverPlace } from '../../../lib/store/redis/log/keys.ts';
import { cpuMsOf, peakMibOf } from '../../harness/cpu-time.ts';
import { entriesOf } from '../../harness/log.ts';
import { plainMessage } from '../../harness/plain-message.ts';
import { makePeople, makeServers } from '../../harness/seed.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { aboveRow, figure, multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const serverCount = 100;
const channelsPerServer = 10;
/** How many messages one insert stores. */
const insertedAtOnce = 2_000;
/** The share of events before and after the steady state, in which workers start and end. */
const startShare = 0.1;
const endShare = 0.9;

/** Stores `count` messages with their pending events, in turn in all channels, as posts leave them while no worker runs. */
async function storeBacklog({ platform }: Setting, count: number): Promise<{ serverIds: string[] }> {
  const { db, ids } = platform;
  const [author] = await makePeople(platform, 1);
  const authorId = String(author?.id);
  const servers = await makeServers(
    platform,
    Array.from({ length: serverCount }, () => [{ id: authorId, bot: false }]),
  );
  const channels = servers.flatMap(({ serverId }) =>
    Array.from({ length: channelsPerServer }, () => ({ serverId, channelId: ids.next() })),
  );
  const pendingSince = Date.now() - 60_000;
  for (let start = 0; start < count; start += insertedAtOnce) {
    const documents = Array.from({ length: Math.min(insertedAtOnce, count - start) }, (_, at): MessageDoc => {
      const { serverId, channelId } = channels[(start + at) % channels.length] as (typeof channels)[number];
      return {
        _id: ids.next(),
        channelId,
        serverId,
        authorId,
        content: `message ${start + at} ${'x'.repeat(100)}`,
        ...plainMessage,
        createdAt: new Date(),
        outbox: [{ id: ids.next(), name: 'MESSAGE_CREATE' }],
        outboxAt: new Date(pendingSince + Math.floor((start + at) / 100)),
      };
    });
    await insertMissing(db.messages, documents, performance.now() + 60_000);
  }
  return { serverIds: servers.map(({ serverId }) => serverId) };
}

/** What a recovery cost: seconds in all, events per second in the steady state, CPU microseconds per event, and the most memory of a worker. */
interface Recovery {
  seconds: number;
  eventsPerSec: number;
  workerUs: number;
  databaseUs: number;
  redisUs: number;
  peakMib: number;
}

/**
 * Throws unless the log of a server has each of its newest entries once and in the order of their ids in each channel. A long backlog is longer than the log, so
 * the number of appended entries tells whether any was lost.
 */
async function checkLog(setting: Setting, serverId: string): Promise<void> {
  const logged = await entriesOf(setting.config, serverPlace(serverId));
  const lastIds = new Map<unknown, string>();
  for (const { data } of logged) {
    if (String(data.id) <= (lastIds.get(data.channelId) ?? '')) throw new Error('events came twice or out of order');
    lastIds.set(data.channelId, String(data.id));
  }
  if (lastIds.size === 0) throw new Error('the log has no events');
}

/** Measures the recovery of a backlog of `count` events by `workerCount` workers that start at the same moment. */
async function recover(bench: Bench, count: number, workerCount: number): Promise<Recovery> {
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 0 });
  let stack: Stack | undefined;
  try {
    const { serverIds } = await storeBacklog(setting, count);
    const { platform } = setting;
    // Entries are numbered one after the other in the one partition, so its last number tells how many events were relayed.
    const place = serverPlace(String(serverIds[0]));
    const readNumber = async (): Promise<number> => (await platform.readLastNumber(place)) ?? 0;
    const { postgres, gateway, mongod, redis } = bench.stores.processes;
    const database = [postgres, gateway, mongod].filter((pid) => pid !== undefined);
    const readStoreCpu = (): Promise<number[]> => Promise.all([cpuMsOf(database), cpuMsOf(redis === undefined ? [] : [redis])]);
    const began = performance.now();
    const [databaseBefore = 0, redisBefore = 0] = await readStoreCpu();
    stack = await startStack({ api: 0, gateway: 0, worker: workerCount }, setting.env);
    const pids = stack.workers.map((worker) => worker.pid() as number);
    const readyAt = performance.now();
    const workersBefore = await cpuMsOf(pids);
    const epochStart = Math.floor((await readNumber()) / 2 ** 40) * 2 ** 40;
    const relayed = async (): Promise<number> => {
      const number = await readNumber();
      return number - (number >= epochStart + 2 ** 40 ? Math.floor(number / 2 ** 40) * 2 ** 40 : epochStart);
    };
    const samples: { at: number; relayed: number }[] = [];
    while ((samples.at(-1)?.relayed ?? 0) < count) {
      samples.push({ at: performance.now(), relayed: await relayed() });
      await sleep(50);
    }
    while (await platform.db.messages.findOne({ outboxAt: { $exists: true } }, { projection: { _id: 1 } })) await sleep(100);
    const endedAt = performance.now();
    const workersAfter = await cpuMsOf(pids);
    const [databaseAfter = 0, redisAfter = 0] = await readStoreCpu();
    const peakMib = Math.max(...(await Promise.all(pids.map(peakMibOf))));
    if ((await relayed()) !== count) throw new Error(`${await relayed()} entries were appended for ${count} events`);
    for (const serverId of serverIds) await checkLog(setting, serverId);
    const first = samples.find((sample) => sample.relayed >= count * startShare) as (typeof samples)[number];
    const last = samples.find((sample) => sample.relayed >= count * endShare) as (typeof samples)[number];
    const perEvent = (cpuMs: number): number => (cpuMs / count) * 1e3;
    const recovery = {
      seconds: (endedAt - readyAt) / 1000,
      eventsPerSec: (last.relayed - first.relayed) / ((last.at - first.at) / 1000),
      workerUs: perEvent(workersAfter - workersBefore),
      databaseUs: perEvent(databaseAfter - databaseBefore),
      redisUs: perEvent(redisAfter - redisBefore),
      peakMib,
    };
    bench.log(
      `  ${count.toLocaleString('en')} events, ${workerCount} worker(s): ${recovery.seconds.toFixed(1)} s from ready, ${((endedAt - began) / 1000).toFixed(1)} s from the start, ${recovery.eventsPerSec.toFixed(0)} events/s; CPU per event: workers ${recovery.workerUs.toFixed(0)} µs, database ${recovery.databaseUs.toFixed(0)} µs, Redis ${recovery.redisUs.toFixed(0)} µs; peak memory of a worker ${peakMib.toFixed(0)} MiB`,
    );
    return recovery;
  } finally {
    await stack?.close();
    await setting.platform.db.messages.deleteMany({});
    await setting.close();
  }
}

/** The recovery of a backlog of pending events by one and by two workers: throughput, CPU and memory. Fails if an event is lost, doubled or out of order. */
export async function backlogRows(bench: Bench): Promise<Row[]> {
  const [one, two]: [Recovery[], Recovery[]] = [[], []];
  for (let round = 0; round < bench.rounds; round++) {
    one.push(await recover(bench, bench.backlogEvents, 1));
    two.push(await recover(bench, bench.backlogEvents, 2));
  }
  const name = `backlog of ${bench.backlogEvents.toLocaleString('en')} events`;
  const of = (recoveries: readonly Recovery[], field: keyof Recovery): number[] => recoveries.map((recovery) => recovery[field]);
  // One worker, the database and Redis share the cores of the machine, so a second worker can only add what these leave.
  const speeds = [figure(of(two, 'eventsPerSec')), figure(of(one, 'eventsPerSec'))] as const;
  const speedup = speeds[0].median / speeds[1].median;
  return [
    {
      name: `${name}, 2 workers and 1`,
      unit: 'events/s',
      ours: speeds[0],
      limit: speeds[1],
      result: `${speedup.toFixed(2)} ×`,
      aim: '≥ 1.8 ×',
      met: speedup >= 1.8,
    },
    ...(['workerUs', 'databaseUs', 'redisUs'] as const).map((field) =>
      multipleRow(`${name}, CPU of ${field.replace('Us', '')} per event, 2 workers and 1`, 'µs', of(two, field), of(one, field), 1.1),
    ),
    aboveRow(`${name}, peak memory of a worker`, 'MiB', of(one, 'peakMib'), null, 400),
  ];
}
