import type { EventData, EventName } from '../../lib/contract/events.ts';
import { encodeEvent } from './frames.ts';
import { getNodePosition, getSessionPosition } from './lane.ts';
import type { GatewayNode, Session } from './state.ts';
import { sendEvent } from './writer.ts';

/** Sends an event that is in no log to sessions whose client has been sent READY or RESUMED. Bots receive it only if they asked for it. */
export function sendUnloggedEvent<N extends EventName>(node: GatewayNode, sessions: Iterable<Session>, name: N, data: EventData<N>): void {
  const payload = Buffer.from(JSON.stringify(data));
  const livePosition = getNodePosition(node);
  const bytes = encodeEvent(name, livePosition, payload);
  let count = 0;
  for (const session of sessions) {
    if ((session.state !== 'live' && session.state !== 'replaying') || (session.eventFilter && !session.eventFilter.has(name))) continue;
    const position = session.state === 'live' ? livePosition : getSessionPosition(session);
    sendEvent(node, session, position, position === livePosition ? bytes : encodeEvent(name, position, payload));
    count++;
  }
  if (count > 0) node.metrics.deliveries.inc({ event: name }, count);
}
