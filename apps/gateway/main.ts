import { readConfigOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { openGatewayPlatform } from '../../lib/store/platform.ts';
import { startMetricsFeed } from '../../lib/store/redis/metrics-feed.ts';
import { startGateway } from './node.ts';

const config = readConfigOrExit();
const log = createLog('gateway', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openGatewayPlatform(config, log);
  await requireSchema(platform);
  const metrics = createMetrics('gateway');
  const gateway = await startGateway(platform, metrics);
  const feed = startMetricsFeed(platform, 'gateway', metrics.registry);
  log.info({ port: gateway.port }, 'listening');
  return {
    close: async () => {
      await gateway.close();
      await feed.close();
      await platform.close();
    },
  };
});
