import { limits } from '../../base/limits.ts';
import type { Sync, SyncQuery } from '../../contract/sync.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { loadDms, toDmChannels } from '../channels/dms.ts';
import { loadReadStates } from '../channels/reads.ts';
import { addThreads, loadJoinedServers } from '../views/joined-servers.ts';
import { toServer } from '../views/servers.ts';

/**
 * A page of all that a client needs when it starts: the caller's servers in full, oldest first, how far the caller has read in their channels, and, on the
 * first page, the caller's DMs. A page holds at most 100 servers with 1,000 channels and 1,000 threads, or one server with more threads. It takes at most 14
 * queries however many servers and channels there are, and one for each channel whose newest message Redis does not know.
 */
export async function getSync(platform: EnqueuePlatform, actor: Actor, { after = '' }: SyncQuery): Promise<Sync> {
  const page = { after, servers: limits.serversPerPerson, channels: limits.channelsSynced };
  const [found, dms] = await Promise.all([loadJoinedServers(platform, actor.id, page), after === '' ? loadDms(platform, actor.id) : []]);
  const { joined, next } = await addThreads(platform, found);
  const [shownDms, reads] = await Promise.all([
    toDmChannels(platform, actor, dms),
    loadReadStates(platform, actor, { servers: joined, dms }),
  ]);
  return { servers: joined.map((server) => toServer(platform, server)), dms: shownDms, reads, next };
}
