import { readConfigOrExit } from '../config/index.ts';
import { createLog } from '../lib/base/log.ts';
import { createMetrics } from '../lib/base/metrics.ts';
import { runRole } from '../lib/base/process.ts';
import { requireSchema } from '../lib/store/mongo/schema-check.ts';
import { startMonitoring } from '../lib/store/monitoring.ts';
import { openWorkerPlatform } from '../lib/store/platform.ts';
import { logRedisWarnings } from '../lib/store/redis/redis-info.ts';
import { startWorker } from './start.ts';

const config = readConfigOrExit();
const log = createLog('worker', config.LOG_LEVEL);

await runRole(log, async () => {
  const metrics = createMetrics('worker');
  const platform = await openWorkerPlatform(config, log, metrics);
  await requireSchema(platform);
  await logRedisWarnings(platform);
  const worker = startWorker(platform, metrics);
  const monitoring = await startMonitoring(platform, 'worker', metrics.registry, {
    storesFiles: true,
    findFault: () => worker.findFault(),
  });
  return {
    close: async () => {
      await worker.close();
      await monitoring.close();
      await platform.close();
    },
  };
});
