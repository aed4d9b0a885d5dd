import { signal } from '@preact/signals';
import { type ApiError, asApiError } from '../api/call.ts';
import { connect, disconnect } from '../api/gateway.ts';
import { dispatch } from './dispatch.ts';
import { loadDms } from './dms.ts';
import { refreshHistories } from './histories.ts';
import { knownMemberLists, loadMembers } from './people.ts';
import { loadReads } from './reads.ts';
import { loadServers } from './servers.ts';
import { refreshUses } from './uses.ts';

/** The channel on the screen: its messages are brought up to date first. */
export const openChannel = signal<string | undefined>(undefined);

/** What stands in the way of showing anything: `loading`, a fault, or nothing. */
export const state = signal<'loading' | 'ready' | ApiError>('loading');

/** A catching-up that failed is tried again after this time, in milliseconds. */
const againMs = 3_000;

async function readAll(serverId: string | undefined): Promise<void> {
  await Promise.all([loadServers(serverId), loadReads(), loadDms()]);
}

/** Reads over REST what may have passed while nothing was heard, until it succeeds or the connection is gone again. */
async function catchUp(isCurrent: () => boolean): Promise<void> {
  while (isCurrent()) {
    try {
      await refreshHistories(openChannel.value);
      await Promise.all([readAll(undefined), refreshUses(), ...knownMemberLists().map((id) => loadMembers(id, true))]);
      return;
    } catch {
      await new Promise((done) => setTimeout(done, againMs));
    }
  }
}

/** How long the reading waits for the gateway, in milliseconds: what passes between a read and the first READY would be missed. */
const gatewayMs = 2_000;

/** Begins to listen and reads what a person's page shows; `serverId` is the server that is looked at. */
export function start(serverId: string | undefined): void {
  let round = 0;
  let begun = false;
  state.value = 'loading';
  const begin = (): void => {
    if (begun) return;
    begun = true;
    clearTimeout(late);
    readAll(serverId).then(
      () => {
        state.value = 'ready';
      },
      (fault: unknown) => {
        state.value = asApiError(fault);
      },
    );
  };
  const late = setTimeout(begin, gatewayMs);
  connect({
    onEvent: dispatch,
    onReady: () => {
      const mine = ++round;
      if (begun) void catchUp(() => mine === round);
      else begin();
    },
  });
}

/** Stops listening. */
export const stop = disconnect;
