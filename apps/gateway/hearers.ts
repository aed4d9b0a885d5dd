import { holds, permissionsOf } from '../../lib/base/permissions.ts';
import { mayView, type ServerAccess } from '../../lib/domain/access.ts';
import type { EnvelopeHead } from '../../lib/store/bus/envelope.ts';

/**
 * Whether an account may hear an event of a server on this state of its access data: who may view the event's channel; for a channel that is gone, who could
 * (its overwrites came with the event); for an event of no channel, every member.
 */
export async function mayHear(access: ServerAccess, head: EnvelopeHead, accountId: string): Promise<boolean> {
  if (head.ch && !head.ow) return mayView(access, accountId, head.ch);
  const member = await access.member(accountId);
  return member !== null && (!head.ow || holds(permissionsOf(access.server, member, head.ow), 'View Channel'));
}
