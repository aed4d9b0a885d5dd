import type { Platform } from '../../store/platform.ts';
import { sweepRecounts } from './recounts.ts';

/**
 * Adds `delta` to the server counts of bots: 1 after they joined a server, -1 after they left. Also marks the counts for a recount. With 0, called before the
 * change, only the mark is set, so that the count is corrected even if the process dies before the second call.
 */
export async function changeServerCounts(platform: Platform, botIds: readonly string[], delta: 1 | 0 | -1): Promise<void> {
  if (botIds.length === 0) return;
  const change = { $inc: { serverCount: delta }, $set: { recountAt: new Date(platform.now()) } };
  await platform.db.applications.updateMany({ botId: { $in: [...botIds] } }, change);
}

/** Recounts the servers of the marked bots that have not joined or left a server recently. */
export const recountBotServers = sweepRecounts('applications', 'serverCount', async ({ db }, applicationId, maxTimeMS) => {
  const application = await db.applications.findOne({ _id: applicationId }, { projection: { botId: 1 } });
  return application ? db.memberships.countDocuments({ userId: application.botId }, { maxTimeMS }) : 0;
});
