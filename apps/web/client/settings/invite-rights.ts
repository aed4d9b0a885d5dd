import { may } from '../../state/rights.ts';
import { details } from '../../state/servers.ts';

/** Whether the person may make invites: any member may, but for staff servers (Manage Server) and developer servers (Administrators). */
export function mayInvite(serverId: string): boolean {
  const types = details.value.get(serverId)?.types;
  if (!types) return false;
  if (types.includes('developer') && !may('Administrator', serverId)) return false;
  return !types.includes('staff') || may('Manage Server', serverId);
}
