import { useEffect } from 'preact/hooks';
import { ensureMember } from '../../state/people.ts';

/** Loads the members with these ids, in a server whose member list is not fully loaded. */
export function useMembers(serverId: string | null, userIds: readonly string[]): void {
  useEffect(() => {
    if (serverId !== null) for (const id of userIds) ensureMember(serverId, id).catch(() => undefined);
  }, [serverId, userIds.join()]);
}
