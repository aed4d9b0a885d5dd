import { holds, permissionsOf } from '../../lib/base/permissions.ts';
import { mayView, overwritesOf, type ServerAccess } from '../../lib/domain/access.ts';
import { type Turn, turnOf } from '../../lib/domain/visibility.ts';
import type { EnvelopeHead } from '../../lib/store/bus/envelope.ts';

/** Whose event it is where a channel's viewers changed: who gained it, who lost it, or who sees it as before. */
const told = (head: EnvelopeHead): Turn => (head.t === 'CHANNEL_CREATE' ? 'shown' : head.t === 'CHANNEL_DELETE' ? 'hidden' : 'seen');

/**
 * Whether an account may hear an event of a server on this state of its access data: who may view the event's channel; for a channel that is gone, who could
 * (its overwrites came with the event); where a channel became visible or hidden, whom that concerns; for an event of no channel, every member.
 */
export async function mayHear(access: ServerAccess, head: EnvelopeHead, accountId: string): Promise<boolean> {
  if (head.was && head.ch) {
    const [member, channel] = await Promise.all([access.member(accountId), access.channel(head.ch)]);
    if (!member || !channel) return false;
    return turnOf(access.server, member, await overwritesOf(access, channel), head.was) === told(head);
  }
  if (head.ch && !head.ow) return mayView(access, accountId, head.ch);
  const member = await access.member(accountId);
  return member !== null && (!head.ow || holds(permissionsOf(access.server, member, head.ow), 'View Channel'));
}

/** Whether a bot may still hear an event that was its own when it happened: one that says a channel is hidden, as a member; else as any event. */
export async function mayHearStill(access: ServerAccess, head: EnvelopeHead, accountId: string): Promise<boolean> {
  if (!head.was) return mayHear(access, head, accountId);
  if (head.t === 'CHANNEL_DELETE') return (await access.member(accountId)) !== null;
  return head.ch !== undefined && mayView(access, accountId, head.ch);
}
