import { readConfigOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { startMonitoring } from '../../lib/store/monitoring.ts';
import { openGatewayPlatform } from '../../lib/store/platform.ts';
import { startGateway } from './node.ts';

const config = readConfigOrExit();
const log = createLog('gateway', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openGatewayPlatform(config, log);
  await requireSchema(platform);
  const metrics = createMetrics('gateway');
  const gateway = await startGateway(platform, metrics);
  const monitoring = await startMonitoring(platform, 'gateway', metrics.registry);
  log.info({ port: gateway.port }, 'listening');
  return {
    drain: () => gateway.drain(),
    close: async () => {
      await gateway.close();
      await monitoring.close();
      await platform.close();
    },
  };
});
