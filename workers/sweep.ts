import type { Running } from '../lib/base/process.ts';
import { sweepMemberships } from '../lib/domain/access/memberships.ts';
import { startDueAccountDeletions } from '../lib/domain/accounts/deletions.ts';
import { publishPresences } from '../lib/domain/accounts/presence-changes.ts';
import { archiveThreads, recountThreads } from '../lib/domain/channels/thread-activity.ts';
import { sweepHiddenChannels } from '../lib/domain/community/channels.ts';
import { recountBotServers } from '../lib/domain/counts/bot-servers.ts';
import { sweepExports } from '../lib/domain/exports/work.ts';
import { sweepFiles, sweepLocalFiles } from '../lib/domain/files/files.ts';
import { sweepImages } from '../lib/domain/files/image-conversion.ts';
import { finishOverdueRemovals } from '../lib/domain/jobs/finish-removal.ts';
import { sweepInteractions, sweepUnposted } from '../lib/domain/jobs/interactions.ts';
import { sweepRetention } from '../lib/domain/jobs/retention-sweep.ts';
import { recountMembers } from '../lib/domain/members/changes.ts';
import { sweepMemberNames } from '../lib/domain/members/names.ts';
import { sweepNotices } from '../lib/domain/members/notices.ts';
import { sweepCrossposts } from '../lib/domain/messages/crossposts.ts';
import { sweepNewMessages } from '../lib/domain/messages/new-messages.ts';
import { sweepReactions } from '../lib/domain/messages/reaction-changes.ts';
import { sweepPreviews } from '../lib/domain/previews/previews.ts';
import { sweepOutbox } from '../lib/domain/relay/relay.ts';
import { sweepDeliveries } from '../lib/domain/webhooks/delivery-posting.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { heartbeatIntervalMs } from '../lib/store/redis/worker-shares.ts';
import { type RepeatedTask, startScheduler } from './scheduler.ts';

/** A search for work whose wake or job was lost (docs/guarantees.md#sweeps). Two workers that run the same sweep do no harm. */
interface Sweep {
  name: string;
  /**
   * `owner`: it runs in the worker that owns its name. `all`: it runs in every worker, because it divides its work between them (`isOwner`), or because its work
   * cannot wait until the work of a dead worker is taken over, or is on the worker's own machine.
   */
  runsIn: 'owner' | 'all';
  /** How often it runs, in milliseconds. Default: 1 s. */
  intervalMs?: number;
  run: (platform: WorkerPlatform) => Promise<unknown>;
}

const sweeps: readonly Sweep[] = [
  { name: 'new-messages', runsIn: 'owner', run: sweepNewMessages },
  { name: 'channel-outbox', runsIn: 'all', run: (platform) => sweepOutbox(platform, 'channel') },
  { name: 'server-outbox', runsIn: 'all', run: (platform) => sweepOutbox(platform, 'server') },
  { name: 'account-outbox', runsIn: 'all', run: (platform) => sweepOutbox(platform, 'account') },
  { name: 'interactions', runsIn: 'all', run: sweepInteractions },
  { name: 'unposted-interactions', runsIn: 'all', run: sweepUnposted },
  { name: 'webhook-deliveries', runsIn: 'all', run: sweepDeliveries },
  { name: 'removals', runsIn: 'all', run: finishOverdueRemovals },
  { name: 'presences', runsIn: 'all', intervalMs: 500, run: publishPresences },
  { name: 'crossposts', runsIn: 'owner', run: sweepCrossposts },
  { name: 'notices', runsIn: 'owner', run: sweepNotices },
  { name: 'previews', runsIn: 'owner', run: sweepPreviews },
  { name: 'account-deletions', runsIn: 'owner', run: startDueAccountDeletions },
  { name: 'log-retention', runsIn: 'owner', run: (platform) => platform.eventLog.expirePlaces() },
  { name: 'thread-counts', runsIn: 'owner', run: recountThreads },
  { name: 'app-directory-counts', runsIn: 'owner', run: recountBotServers },
  { name: 'member-counts', runsIn: 'owner', run: recountMembers },
  { name: 'memberships', runsIn: 'owner', run: sweepMemberships },
  { name: 'reactions', runsIn: 'owner', run: sweepReactions },
  { name: 'member-names', runsIn: 'owner', run: sweepMemberNames },
  { name: 'retention', runsIn: 'owner', run: sweepRetention },
  { name: 'hidden-channels', runsIn: 'owner', intervalMs: 10_000, run: sweepHiddenChannels },
  { name: 'images', runsIn: 'owner', intervalMs: 10_000, run: sweepImages },
  { name: 'exports', runsIn: 'owner', intervalMs: 10_000, run: sweepExports },
  { name: 'thread-archive', runsIn: 'owner', intervalMs: 60_000, run: archiveThreads },
  { name: 'files', runsIn: 'owner', intervalMs: 60_000, run: sweepFiles },
  { name: 'local-files', runsIn: 'all', intervalMs: 60_000, run: sweepLocalFiles },
];

/** Records a heartbeat, unless this worker cannot reach the database: it could not do its share of the work, so others must take it over. */
async function recordHeartbeat(platform: WorkerPlatform): Promise<void> {
  await platform.db.meta.findOne({ _id: 'app-key' }, { projection: { _id: 1 } });
  await platform.shares.recordHeartbeat();
}

/** The running sweeps of a worker. */
export interface Sweeps extends Running {
  /** How long ago this worker last tried to record its heartbeat, in milliseconds. It tries twice a second, also while Redis is unavailable. */
  getHeartbeatAgeMs(): number;
}

/**
 * Runs the sweeps, and the heartbeat by which workers divide them (docs/delivery.md#sweeps). `intervalMs` replaces the default interval. A failed sweep is
 * tried again in its next run; at most one failure in 10 s is logged. `close` lets other workers take over, and waits for the current runs.
 */
export function startSweeps(platform: WorkerPlatform, intervalMs = 1_000): Sweeps {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const logFailure = (sweep: string, error: unknown): void => {
    if (performance.now() - loggedAt < 10_000) return;
    loggedAt = performance.now();
    platform.log.warn({ sweep, err: error }, 'sweep failed');
  };
  // A worker that does not know the others yet would sweep everything.
  const firstHeartbeat = platform.shares.recordHeartbeat().catch(() => undefined);
  const tasks = sweeps.map(({ name, runsIn, run, ...sweep }): RepeatedTask => {
    const runIfOwner = async (): Promise<void> => {
      await firstHeartbeat;
      if (runsIn === 'all' || platform.shares.isOwner(name)) await run(platform);
    };
    return { name, intervalMs: sweep.intervalMs ?? intervalMs, run: runIfOwner };
  });
  let triedAt = performance.now();
  const tryHeartbeat = (): Promise<void> =>
    recordHeartbeat(platform).finally(() => {
      triedAt = performance.now();
    });
  const heartbeat = { name: 'heartbeat', intervalMs: heartbeatIntervalMs, run: tryHeartbeat };
  const scheduler = startScheduler([heartbeat, ...tasks], logFailure);
  return {
    getHeartbeatAgeMs: () => performance.now() - triedAt,
    close: async () => {
      const closed = scheduler.close();
      await platform.shares.endHeartbeat().catch(() => undefined); // from now on, sweeps that divide their work find none
      await closed;
    },
  };
}
