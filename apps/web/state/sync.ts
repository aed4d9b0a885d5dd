import type { Sync } from '../../../lib/contract/sync.ts';
import { call, query } from '../api/call.ts';
import type { GatewayEvent } from '../api/gateway.ts';
import { dispatch } from './dispatch.ts';
import { setDms } from './dms.ts';
import { applyLoad, repeatAfterLoads } from './loads.ts';
import { setReads } from './reads.ts';
import { setServers } from './servers.ts';

/** Events that change a count instead of setting a value. They do not change anything that is loaded here, and must not be applied twice. */
const countingEvents: readonly GatewayEvent['t'][] = ['REACTION_ADD', 'REACTION_REMOVE', 'PINS_UPDATE'];

/** Applies an event now, and again after each load that is in progress, because the loaded data may be older than the event. */
export function receiveEvent(event: GatewayEvent): void {
  if (!countingEvents.includes(event.t)) repeatAfterLoads(() => dispatch(event), event.t.startsWith('MESSAGE_'));
  dispatch(event);
}

/** Loads the servers, direct messages and read marks of the user and replaces the known ones. Throws `ApiError`. */
export async function loadSync(signal?: AbortSignal): Promise<void> {
  const readPages = async (): Promise<Sync[]> => {
    const pages: Sync[] = [];
    for (let after: string | undefined | null; after !== null; after = pages.at(-1)?.next)
      pages.push(await call<Sync>('GET', `/api/users/@me/sync${query({ after })}`, undefined, signal ? { signal } : {}));
    return pages;
  };
  const apply = (pages: readonly Sync[]): void => {
    setServers(pages.flatMap(({ servers }) => servers));
    setDms(pages.flatMap(({ dms }) => dms));
    setReads(pages.flatMap(({ reads }) => reads));
  };
  await applyLoad(readPages, apply, true);
}
