/*
 * A process that opens the platforms of all roles, loses Redis, and closes them: when they have noticed the loss (`seen`), when not (`unseen`), and when Redis
 * is lost before all connections are open (`early`). It ends by itself when nothing keeps it running.
 */

import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openApiPlatform, openGatewayPlatform, openOpsPlatform, openWorkerPlatform } from '../../lib/store/platform.ts';
import { startWorker } from '../../workers/start.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { subscribe } from '../harness/log.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';

/** Opens the platforms, loses Redis, and closes them. */
async function closeWithout(when: 'seen' | 'unseen' | 'early'): Promise<void> {
  const proxy = await startTcpProxy(String(process.env.REDIS_URL), 6379);
  const config = testConfig({ REDIS_URL: proxy.url, LOG_LEVEL: 'silent' });
  const log = createLog('test', config.LOG_LEVEL);
  const [api, worker, gateway, ops] = await Promise.all([
    openApiPlatform(config, log),
    openWorkerPlatform(config, log),
    openGatewayPlatform(config, log),
    openOpsPlatform(config, log),
  ]);
  const reader = await subscribe(gateway, ['account:1'], () => undefined);
  const jobs = startWorker(worker, createMetrics('worker'));
  const platforms = [api, worker, gateway, ops];
  if (when !== 'early') {
    await api.jobs.enqueue('finish-removal', { removalId: api.ids.next() });
    await waitUntil(async () => (await api.jobs.countWaiting('upkeep')) === 0, 'the worker has taken the job');
  }
  await proxy.close();
  if (when === 'seen') await waitUntil(() => platforms.every((one) => !one.isRedisUp()), 'every platform has noticed that Redis is down');
  await jobs.close();
  await reader.close();
  for (const platform of platforms) await platform.close();
  process.stdout.write(`${when} `);
}

for (const when of ['seen', 'unseen', 'early'] as const) await closeWithout(when);
