import { configOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { sweepLocalFiles } from '../../lib/domain/files/files.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { startMetricsFeed } from '../../lib/store/redis/metrics-feed.ts';
import { startApi } from './listen.ts';

/** How often local files that crashed API processes have left behind are removed, in milliseconds. */
const localFilesEveryMs = 5 * 60_000;

const config = configOrExit();
const log = createLog('api', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openApiPlatform(config, log);
  await platform.db.prepare();
  const metrics = createMetrics('api');
  const api = await startApi(platform, metrics);
  // With S3, local files are on the disk of this machine, and there may be no worker here to remove them.
  const sweepLocal = (): void =>
    void sweepLocalFiles(platform).catch((error: unknown) => log.warn({ err: error }, 'local files could not be removed'));
  sweepLocal();
  const sweeping = setInterval(sweepLocal, localFilesEveryMs);
  const feed = startMetricsFeed(platform, 'api', metrics.registry);
  log.info({ port: api.port }, 'listening');
  return {
    close: async () => {
      clearInterval(sweeping);
      await api.close();
      await feed.close();
      await platform.close();
    },
  };
});
