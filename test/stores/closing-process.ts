/*
 * A process that opens all of every role, loses Redis, and closes it all. It ends by itself, when nothing of it goes on. Its argument says whether the
 * loss is seen before it closes (`seen`) or not (`unseen`), or comes before every connection stands (`early`).
 */

import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openApiPlatform, openGatewayPlatform, openOpsPlatform, openWorkerPlatform } from '../../lib/store/platform.ts';
import { startWorker } from '../../workers/start.ts';
import { subscribe } from '../harness/log.ts';
import { until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';

const when = process.argv[2];
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
  await api.enqueue('relay-channel', { channelId: api.ids.next() });
  await until(async () => (await api.waiting('relay')) === 0, 'the worker takes jobs');
}
await proxy.close();
if (when === 'seen') await until(() => platforms.every((one) => !one.redisUp()), 'Redis is seen to be away');
await jobs.close();
await reader.close();
for (const platform of platforms) await platform.close();
process.stdout.write('closed');
