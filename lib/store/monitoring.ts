import { randomBytes } from 'node:crypto';
import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, resolve } from 'node:path';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { type InternalPages, startInternalServer } from '../base/internal-server.ts';
import type { Running } from '../base/process.ts';
import type { Platform } from './common-platform.ts';
import { keepRegistered } from './redis/process-addresses.ts';

/** How a process is monitored. By default `/metrics` has what is in the registry, and `/healthz` says that the process answers. */
export interface MonitoringOptions extends Partial<InternalPages> {
  /** Whether the process stores files: its metrics then have the free space of the disk of FILES_DIR. */
  storesFiles?: boolean;
}

/** The host at which other machines reach a server that listens on `host`: for all interfaces, the first address that is not loopback. */
function toReachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const outside = Object.values(networkInterfaces()).flatMap((addresses) => addresses?.filter(({ internal }) => !internal) ?? []);
  const found = outside.find(({ family }) => family === 'IPv4') ?? outside.find(({ scopeid }) => scopeid === 0);
  return found?.address ?? '127.0.0.1';
}

/** Reads the disk of a folder, or while the folder does not exist, of the one in which it will be created. */
const readDisk = (folder: string): Promise<StatsFs> =>
  statfs(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && folder !== dirname(folder)) return readDisk(dirname(folder));
    throw error;
  });

/** Adds the size and the free space of the disk of `folder` to `registry`. They are left out while the folder cannot be read. */
function measureDisk(folder: string, registry: Registry): void {
  const measure = (name: string, help: string, toBlocks: (disk: StatsFs) => number): void => {
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const disk = await readDisk(folder).catch(() => null);
        if (disk) gauge.set(toBlocks(disk) * disk.bsize);
        else gauge.remove();
      },
    });
  };
  measure('parlance_files_disk_free_bytes', 'Free space of the disk of FILES_DIR.', ({ bavail }) => bavail);
  measure('parlance_files_disk_size_bytes', 'Size of the disk of FILES_DIR.', ({ blocks }) => blocks);
}

/**
 * Serves the metrics and the health check of this process on METRICS_PORT of METRICS_HOST, and registers the address in Redis, where ops finds it. Adds Node.js'
 * own metrics (memory, CPU, event loop) to `registry`. While Redis is unavailable it still serves them. `close` removes the address.
 */
export async function startMonitoring(
  platform: Pick<Platform, 'config' | 'log' | 'registerProcess' | 'unregisterProcess'>,
  role: string,
  registry: Registry,
  { storesFiles = false, renderMetrics, findFault = () => null }: MonitoringOptions = {},
): Promise<Running & { port: number }> {
  const { METRICS_HOST, METRICS_PORT, FILES_DIR } = platform.config;
  collectDefaultMetrics({ register: registry });
  if (storesFiles) measureDisk(resolve(FILES_DIR), registry);
  const render = async () => ({ type: registry.contentType, text: await registry.metrics() });
  const server = await startInternalServer(METRICS_HOST, METRICS_PORT, { renderMetrics: renderMetrics ?? render, findFault });
  const host = toReachableHost(METRICS_HOST);
  const address = {
    name: `${role}:${randomBytes(6).toString('hex')}`,
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${server.port}`,
  };
  platform.log.info({ host, port: server.port }, 'serving metrics');
  const unregister = await keepRegistered(platform, address);
  return {
    port: server.port,
    close: async () => {
      await unregister();
      await server.close();
    },
  };
}
