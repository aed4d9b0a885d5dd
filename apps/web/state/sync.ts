import { batch } from '@preact/signals';
import type { Sync } from '../../../lib/contract/sync.ts';
import { call, query } from '../api/call.ts';
import type { GatewayEvent } from '../api/gateway.ts';
import { dispatch } from './dispatch.ts';
import { setDms } from './dms.ts';
import { setReads } from './reads.ts';
import { setServers } from './servers.ts';

/** Events that are counted, not set: they change nothing that is loaded here, and must not be applied twice. */
const counted: readonly GatewayEvent['t'][] = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE'];

/** The events that came during each load that is under way. */
const loads = new Set<GatewayEvent[]>();

/** Applies an event now, and once more after a load that is under way, whose answer may be older than the event. */
export function receive(event: GatewayEvent): void {
  for (const late of loads) late.push(event);
  dispatch(event);
}

/** Loads the servers, direct messages and read marks of the person, in place of what was known of them. Throws `ApiError`. */
export async function loadSync(signal?: AbortSignal): Promise<void> {
  const late: GatewayEvent[] = [];
  loads.add(late);
  try {
    const pages: Sync[] = [];
    for (let after: string | undefined | null; after !== null; after = pages.at(-1)?.next)
      pages.push(await call<Sync>('GET', `/api/users/@me/sync${query({ after })}`, undefined, signal ? { signal } : {}));
    batch(() => {
      setServers(pages.flatMap(({ servers }) => servers));
      setDms(pages.flatMap(({ dms }) => dms));
      setReads(pages.flatMap(({ reads }) => reads));
      for (const event of late) if (!counted.includes(event.t)) dispatch(event);
    });
  } finally {
    loads.delete(late);
  }
}
