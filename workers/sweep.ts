import { forEachLimit } from '../lib/base/for-each-limit.ts';
import { publishPresences } from '../lib/domain/accounts/presence-changes.ts';
import { recountBotServers } from '../lib/domain/applications/app-directory.ts';
import { archiveThreads, recountThreads } from '../lib/domain/channels/thread-activity.ts';
import { sweepHiddenChannels } from '../lib/domain/community/community-channels.ts';
import { type OutboxName, sweepOutbox } from '../lib/domain/events/relay.ts';
import { sweepFiles } from '../lib/domain/files/files.ts';
import { sweepImages } from '../lib/domain/files/image-conversion.ts';
import { sweepInteractions, sweepUnposted } from '../lib/domain/interactions/interaction-sweeps.ts';
import { sweepMemberNames } from '../lib/domain/members/member-names.ts';
import { recountMembers } from '../lib/domain/members/membership.ts';
import { sweepMemberships } from '../lib/domain/members/memberships.ts';
import { sweepNotices } from '../lib/domain/members/notices.ts';
import { sweepCrossposts } from '../lib/domain/messages/crossposts.ts';
import { sweepReactions } from '../lib/domain/messages/reaction-changes.ts';
import { sweepPreviews } from '../lib/domain/previews/previews.ts';
import { finishRemoval } from '../lib/domain/servers/finish-removal.ts';
import { findOverdueRemovals } from '../lib/domain/servers/removals.ts';
import { sweepDeliveries } from '../lib/domain/webhooks/delivery-posting.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** The outboxes with a sweep of their own. The outbox of interactions is swept after late interactions have expired (`sweepInteractions`). */
const outboxes: readonly OutboxName[] = ['channel', 'server', 'account'];

const finishOverdueRemovals = async (platform: WorkerPlatform): Promise<void> =>
  forEachLimit(await findOverdueRemovals(platform), 1, (removalId) => finishRemoval(platform, removalId));

/** How often changed presences are published, in milliseconds, so that others receive a change within a second. */
const presencesIntervalMs = 500;
/** How often threads are archived, in milliseconds (docs/behavior/messages.md#archiving). */
const archiveIntervalMs = 60_000;
/** How often channels that a dead process left hidden are shown or deleted, in milliseconds. */
const hiddenChannelsIntervalMs = 10_000;
/** How often the job of an image that waits for too long is enqueued again, in milliseconds. */
const imagesIntervalMs = 10_000;
/** How often files that may belong to no message are kept or deleted, in milliseconds. */
const filesIntervalMs = 60_000;

/** Runs `work` at once, and again `intervalMs` after each run has ended, until closed. `close` waits for the current run. */
function repeat(work: () => Promise<void>, intervalMs: number): { close(): Promise<void> } {
  let closed = false;
  const run = async (): Promise<void> => {
    await work();
    if (!closed) timer = setTimeout(startRun, intervalMs);
  };
  let running: Promise<void> = Promise.resolve();
  const startRun = (): void => {
    running = run();
  };
  let timer = setTimeout(startRun, 0);
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
  };
}

/**
 * Finds work without the queue, in case its wake or its job was lost: events that have been pending for more than 2 s, interactions past their time, and so on.
 * Sweeps that may take long or must not wait have a loop of their own; the others share one. Loops repeat after `intervalMs` or the times above. A failed sweep
 * is tried again in its next run; at most one failure in 10 s is logged. `close` waits for the current runs.
 */
export function startSweeps(platform: WorkerPlatform, intervalMs = 1_000): { close(): Promise<void> } {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const runSweep = async (sweepName: string, sweep: () => Promise<unknown>): Promise<void> => {
    try {
      await sweep();
    } catch (error) {
      if (performance.now() - loggedAt < 10_000) return;
      loggedAt = performance.now();
      platform.log.warn({ sweep: sweepName, err: error }, 'sweep failed');
    }
  };
  const runShortSweeps = async (): Promise<void> => {
    await Promise.all([
      runSweep('crossposts', () => sweepCrossposts(platform)),
      runSweep('notices', () => sweepNotices(platform)),
      runSweep('previews', () => sweepPreviews(platform)),
      runSweep('log-retention', () => platform.expirePlaces()),
      runSweep('heartbeat', () => platform.recordHeartbeat()),
    ]);
  };
  const loops = [
    repeat(runShortSweeps, intervalMs),
    repeat(() => runSweep('unposted-interactions', () => sweepUnposted(platform)), intervalMs),
    repeat(() => runSweep('interactions', () => sweepInteractions(platform)), intervalMs),
    ...outboxes.map((outbox) => repeat(() => runSweep(`${outbox}-outbox`, () => sweepOutbox(platform, outbox)), intervalMs)),
    repeat(() => runSweep('webhook-deliveries', () => sweepDeliveries(platform)), intervalMs),
    repeat(() => runSweep('thread-counts', () => recountThreads(platform)), intervalMs),
    repeat(() => runSweep('app-directory-counts', () => recountBotServers(platform)), intervalMs),
    repeat(() => runSweep('member-counts', () => recountMembers(platform)), intervalMs),
    repeat(() => runSweep('memberships', () => sweepMemberships(platform)), intervalMs),
    repeat(() => runSweep('member-names', () => sweepMemberNames(platform)), intervalMs),
    repeat(() => runSweep('reactions', () => sweepReactions(platform)), intervalMs),
    repeat(() => runSweep('removals', () => finishOverdueRemovals(platform)), intervalMs),
    repeat(() => runSweep('hidden-channels', () => sweepHiddenChannels(platform)), hiddenChannelsIntervalMs),
    repeat(() => runSweep('presences', () => publishPresences(platform)), presencesIntervalMs),
    repeat(() => runSweep('images', () => sweepImages(platform)), imagesIntervalMs),
    repeat(() => runSweep('thread-archive', () => archiveThreads(platform)), archiveIntervalMs),
    repeat(() => runSweep('files', () => sweepFiles(platform)), filesIntervalMs),
  ];
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.close()));
    },
  };
}
