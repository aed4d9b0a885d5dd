import { limits } from '../../base/limits.ts';
import type { Sync, SyncPage } from '../../contract/sync.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { dmsOf, showDms } from '../channels/dms.ts';
import { readsIn } from '../channels/reads.ts';
import type { Actor } from '../members/access.ts';
import { showServer } from '../servers/server-view.ts';
import { joinedServers, withThreads } from './joined-servers.ts';

/**
 * A page of all that a client needs when it starts: the caller's servers in full, oldest first, how far the caller has read in their channels, and, on the
 * first page, the caller's DMs. A page holds at most 100 servers with 1,000 channels and 1,000 threads, or one server with more threads. It takes at most 14
 * queries however many servers and channels there are, and one for each channel whose newest message Redis does not know.
 */
export async function getSync(platform: EnqueuePlatform, actor: Actor, { after = '' }: SyncPage): Promise<Sync> {
  const page = { after, servers: limits.serversPerPerson, channels: limits.channelsSynced };
  const [found, dms] = await Promise.all([joinedServers(platform, actor.id, page), after === '' ? dmsOf(platform, actor.id) : []]);
  const { joined, next } = await withThreads(platform, found);
  const [shownDms, reads] = await Promise.all([showDms(platform, actor, dms), readsIn(platform, actor, { servers: joined, dms })]);
  return { servers: joined.map(showServer), dms: shownDms, reads, next };
}
