import { configOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { startMetricsFeed } from '../../lib/store/metrics-feed.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { startApi } from './listen.ts';

const config = configOrExit();
const log = createLog('api', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openApiPlatform(config, log);
  await platform.db.prepare();
  const metrics = createMetrics('api');
  const api = await startApi(platform, metrics);
  const feed = startMetricsFeed(platform, 'api', metrics.registry);
  log.info({ port: api.port }, 'listening');
  return {
    close: async () => {
      await api.close();
      await feed.close();
      await platform.close();
    },
  };
});
