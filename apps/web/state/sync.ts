import { batch } from '@preact/signals';
import type { Sync } from '../../../lib/contract/sync.ts';
import { call, query } from '../api/call.ts';
import type { GatewayEvent } from '../api/gateway.ts';
import { dispatch } from './dispatch.ts';
import { setDms } from './dms.ts';
import { setReads } from './reads.ts';
import { setServers } from './servers.ts';

/** Events that change a count instead of setting a value. They do not change anything that `loadSync` loads, and must not be applied twice. */
const countingEvents: readonly GatewayEvent['t'][] = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE'];

/** For each load in progress, the events that arrived during it. */
const loads = new Set<GatewayEvent[]>();

/** Applies an event now, and again after each load that is in progress, because the loaded data may be older than the event. */
export function receiveEvent(event: GatewayEvent): void {
  for (const events of loads) events.push(event);
  dispatch(event);
}

/** Loads the servers, direct messages and read marks of the user and replaces the known ones. Throws `ApiError`. */
export async function loadSync(signal?: AbortSignal): Promise<void> {
  const lateEvents: GatewayEvent[] = [];
  loads.add(lateEvents);
  try {
    const pages: Sync[] = [];
    for (let after: string | undefined | null; after !== null; after = pages.at(-1)?.next)
      pages.push(await call<Sync>('GET', `/api/users/@me/sync${query({ after })}`, undefined, signal ? { signal } : {}));
    batch(() => {
      setServers(pages.flatMap(({ servers }) => servers));
      setDms(pages.flatMap(({ dms }) => dms));
      setReads(pages.flatMap(({ reads }) => reads));
      for (const event of lateEvents) if (!countingEvents.includes(event.t)) dispatch(event);
    });
  } finally {
    loads.delete(lateEvents);
  }
}
