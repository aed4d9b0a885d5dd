import type { EventName } from '../../lib/contract/events.ts';
import { eventBytes } from './frames.ts';
import { positionOf, positionOfNode } from './lane.ts';
import type { GatewayNode, Session } from './state.ts';
import { sendEvent } from './writer.ts';

/** Sends an event that is in no log to sessions whose client has been sent READY or RESUMED. Bots receive it only if they asked for it. */
export function sendUnlogged(node: GatewayNode, sessions: Iterable<Session>, name: EventName, data: unknown): void {
  const payload = Buffer.from(JSON.stringify(data));
  const live = positionOfNode(node);
  const bytes = eventBytes(name, live, payload);
  let count = 0;
  for (const session of sessions) {
    if ((session.state !== 'live' && session.state !== 'replaying') || (session.events && !session.events.has(name))) continue;
    const s = session.state === 'live' ? live : positionOf(session);
    sendEvent(node, session, s, s === live ? bytes : eventBytes(name, s, payload));
    count++;
  }
  if (count > 0) node.metrics.deliveries.inc({ event: name }, count);
}
