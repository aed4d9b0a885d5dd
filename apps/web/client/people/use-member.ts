import { useEffect } from 'preact/hooks';
import { needMember } from '../../state/people.ts';

/** Has the members of these ids read where a server has so many that not all were. */
export function useMembers(serverId: string | null, userIds: readonly string[]): void {
  useEffect(() => {
    if (serverId !== null) for (const id of userIds) needMember(serverId, id).catch(() => undefined);
  }, [serverId, userIds.join()]);
}
