import { configOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { openGatewayPlatform } from '../../lib/store/platform.ts';
import { startGateway } from './node.ts';

const config = configOrExit();
const log = createLog('gateway', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openGatewayPlatform(config, log);
  const gateway = await startGateway(platform, createMetrics('gateway'));
  log.info({ port: gateway.port }, 'listening');
  return {
    close: async () => {
      await gateway.close();
      await platform.close();
    },
  };
});
