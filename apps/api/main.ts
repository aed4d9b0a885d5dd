import { readConfigOrExit } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { runRole } from '../../lib/base/process.ts';
import { sweepLocalFiles } from '../../lib/domain/files/files.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { startMonitoring } from '../../lib/store/monitoring.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { startApi } from './listen.ts';

/** How often local files that crashed API processes have left behind are removed, in milliseconds. */
const localFilesSweepMs = 5 * 60_000;

const config = readConfigOrExit();
const log = createLog('api', config.LOG_LEVEL);

await runRole(log, async () => {
  const platform = await openApiPlatform(config, log);
  await requireSchema(platform);
  const metrics = createMetrics('api');
  const api = await startApi(platform, metrics);
  // With S3, local files are on the disk of this machine, and there may be no worker here to remove them.
  const sweepFiles = (): void =>
    void sweepLocalFiles(platform).catch((error: unknown) => log.warn({ err: error }, 'could not remove old local files'));
  sweepFiles();
  const sweepTimer = setInterval(sweepFiles, localFilesSweepMs);
  const monitoring = await startMonitoring(platform, 'api', metrics.registry, { storesFiles: true });
  log.info({ port: api.port }, 'listening');
  return {
    close: async () => {
      clearInterval(sweepTimer);
      await api.close();
      await monitoring.close();
      await platform.close();
    },
  };
});
