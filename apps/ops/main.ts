import { readConfigOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { startMonitoring } from '../../lib/store/monitoring.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { watchRedis } from '../../lib/store/redis/redis-info.ts';
import { startOps } from './start.ts';

const config = readConfigOrExit();
const log = createLog('ops', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openOpsPlatform(config, log);
  await requireSchema(platform);
  const watch = await watchRedis(platform);
  const { registry } = createMetrics('ops');
  const ops = await startOps(platform, { registry });
  const monitoring = await startMonitoring(platform, 'ops', registry, { renderMetrics: () => ops.renderMetrics() });
  log.info({ port: ops.port, open: config.OPS_PASSWORD !== '' }, 'listening');
  return {
    close: async () => {
      await ops.close();
      watch.close();
      await monitoring.close();
      await platform.close();
    },
  };
});
