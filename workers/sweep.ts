import { forEachAtOnce } from '../lib/base/at-once.ts';
import { publishPresences } from '../lib/domain/accounts/presence-changes.ts';
import { recountServers } from '../lib/domain/applications/app-directory.ts';
import { archiveThreads, recountThreads } from '../lib/domain/channels/thread-activity.ts';
import { sweepHeld } from '../lib/domain/community/community-channels.ts';
import { type OutboxName, sweepOutbox } from '../lib/domain/events/relay.ts';
import { sweepFiles } from '../lib/domain/files/files.ts';
import { sweepImages } from '../lib/domain/files/image-conversion.ts';
import { sweepInteractions, sweepUnposted } from '../lib/domain/interactions/interaction-sweeps.ts';
import { nameMarkedMembers } from '../lib/domain/members/member-names.ts';
import { recountMembers } from '../lib/domain/members/membership.ts';
import { sweepNotices } from '../lib/domain/members/notices.ts';
import { sweepCrossposts } from '../lib/domain/messages/crossposts.ts';
import { sweepPreviews } from '../lib/domain/previews/previews.ts';
import { finishRemoval } from '../lib/domain/servers/finish-removal.ts';
import { overdueRemovals } from '../lib/domain/servers/removals.ts';
import { sweepDeliveries } from '../lib/domain/webhooks/delivery-posting.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** The outboxes with a sweep of their own. The outbox of interactions is swept after late interactions have expired (`sweepInteractions`). */
const outboxes: readonly OutboxName[] = ['channel', 'server', 'account'];

const sweepRemovals = async (platform: WorkerPlatform): Promise<void> =>
  forEachAtOnce(await overdueRemovals(platform), 1, (removalId) => finishRemoval(platform, removalId));

/** How often changed presences are published, in milliseconds, so that others receive a change within a second. */
const presencesEveryMs = 500;
/** How often threads are archived, in milliseconds (docs/behavior/messages.md#archiving). */
const archiveEveryMs = 60_000;
/** How often channels that a dead process left hidden are shown or deleted, in milliseconds. */
const heldEveryMs = 10_000;
/** How often the job of an image that waits for too long is enqueued again, in milliseconds. */
const imagesEveryMs = 10_000;
/** How often files that may belong to no message are kept or deleted, in milliseconds. */
const filesEveryMs = 60_000;

/** Runs `work` at once, and again `everyMs` after each run has ended, until closed. `close` waits for the current run. */
function repeat(work: () => Promise<void>, everyMs: number): { close(): Promise<void> } {
  let closed = false;
  const run = async (): Promise<void> => {
    await work();
    if (!closed) timer = setTimeout(next, everyMs);
  };
  let under: Promise<void> = Promise.resolve();
  const next = (): void => {
    under = run();
  };
  let timer = setTimeout(next, 0);
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await under;
      clearTimeout(timer);
    },
  };
}

/**
 * Finds work without the queue, in case its wake or its job was lost: events that have been pending for more than 2 s, interactions past their time, and so on.
 * Sweeps that may take long or must not wait have a loop of their own; the others share one. Loops repeat after `everyMs` or the times above. A failed sweep is
 * tried again in its next run; at most one failure in 10 s is logged. `close` waits for the current runs.
 */
export function startSweeps(platform: WorkerPlatform, everyMs = 1_000): { close(): Promise<void> } {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const once = async (what: string, sweep: () => Promise<unknown>): Promise<void> => {
    try {
      await sweep();
    } catch (error) {
      if (performance.now() - loggedAt < 10_000) return;
      loggedAt = performance.now();
      platform.log.warn({ sweep: what, err: error }, 'sweep failed');
    }
  };
  const eachSecond = async (): Promise<void> => {
    await Promise.all([
      once('crossposts', () => sweepCrossposts(platform)),
      once('notices', () => sweepNotices(platform)),
      once('previews', () => sweepPreviews(platform)),
      once('retention', () => platform.retain()),
      once('beat', () => platform.beat()),
    ]);
  };
  const loops = [
    repeat(eachSecond, everyMs),
    repeat(() => once('unposted', () => sweepUnposted(platform)), everyMs),
    repeat(() => once('interactions', () => sweepInteractions(platform)), everyMs),
    ...outboxes.map((outbox) => repeat(() => once(outbox, () => sweepOutbox(platform, outbox)), everyMs)),
    repeat(() => once('deliveries', () => sweepDeliveries(platform)), everyMs),
    repeat(() => once('counts', () => recountThreads(platform)), everyMs),
    repeat(() => once('directory', () => recountServers(platform)), everyMs),
    repeat(() => once('members', () => recountMembers(platform)), everyMs),
    repeat(() => once('names', () => nameMarkedMembers(platform)), everyMs),
    repeat(() => once('removals', () => sweepRemovals(platform)), everyMs),
    repeat(() => once('held', () => sweepHeld(platform)), heldEveryMs),
    repeat(() => once('presences', () => publishPresences(platform)), presencesEveryMs),
    repeat(() => once('images', () => sweepImages(platform)), imagesEveryMs),
    repeat(() => once('archive', () => archiveThreads(platform)), archiveEveryMs),
    repeat(() => once('files', () => sweepFiles(platform)), filesEveryMs),
  ];
  return {
    close: async () => {
      await Promise.all(loops.map((loop) => loop.close()));
    },
  };
}
