import { readConfigOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { startMetricsFeed } from '../../lib/store/redis/metrics-feed.ts';
import { watchRedis } from '../../lib/store/redis/redis-info.ts';
import { startOps } from './start.ts';

const config = readConfigOrExit();
const log = createLog('ops', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openOpsPlatform(config, log);
  await requireSchema(platform);
  const watch = await watchRedis(platform);
  const feed = startMetricsFeed(platform, 'ops', createMetrics('ops').registry);
  const ops = await startOps(platform);
  log.info({ port: ops.port, open: config.OPS_PASSWORD !== '' }, 'listening');
  return {
    close: async () => {
      await ops.close();
      watch.close();
      await feed.close();
      await platform.close();
    },
  };
});
