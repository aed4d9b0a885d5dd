import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStores } from '../../apps/local/stores.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';
import { clusterFaults, databaseFaults, type Fault, type RedisFaults, singleRedisFaults } from './faults.ts';

/** The stores of a fault run. */
export interface ChaosStores {
  mongodbUrl: string;
  redisUrl: string;
  redisFaults: RedisFaults;
  databaseFaults: Fault[];
  close(): Promise<void>;
}

/** Starts stores with durable settings in a separate folder: a database, and one Redis or a cluster. They are not restarted when they end. */
export async function startChaosStores(isCluster: boolean, report?: (line: string) => void): Promise<ChaosStores> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parlance-chaos-'));
  const only = isCluster ? { only: 'mongo' as const } : {};
  const stores = await startStores({ dataDir, durable: true, own: true, supervise: false, ...only, ...(report && { report }) });
  const cluster = isCluster ? await startRedisCluster() : null;
  return {
    mongodbUrl: stores.mongodbUrl,
    redisUrl: cluster?.url ?? stores.redisUrl,
    redisFaults: cluster ? clusterFaults(cluster) : singleRedisFaults(stores, dataDir),
    databaseFaults: databaseFaults(stores),
    async close() {
      await cluster?.close();
      await stores.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
