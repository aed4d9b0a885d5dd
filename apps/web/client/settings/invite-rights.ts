import { may } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';

/** Whether the user may create invites. Any member may, except in staff servers (needs Manage Server) and developer servers (needs Administrator). */
export function mayInvite(serverId: string): boolean {
  const types = servers.value.get(serverId)?.types;
  if (!types) return false;
  if (types.includes('developer') && !may('Administrator', serverId)) return false;
  return !types.includes('staff') || may('Manage Server', serverId);
}
