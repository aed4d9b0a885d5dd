import { signal } from '@preact/signals';
import { backoffMs } from '../api/backoff.ts';
import { type ApiError, asApiError } from '../api/call.ts';
import { connect, disconnect } from '../api/gateway.ts';
import { isPassing } from '../ui/use-retry.ts';
import { refreshHistories } from './histories.ts';
import { knownMemberLists, loadMembers } from './people.ts';
import { sendUnsentMarks } from './reads.ts';
import { loadSync, receive } from './sync.ts';
import { refreshUses } from './uses.ts';
import { putOffline, watchAnew } from './watch.ts';

/** The channel on the screen: its messages are brought up to date first. */
export const openChannel = signal<string | undefined>(undefined);

/** What stands in the way of showing anything: `loading`, a fault, or nothing. */
export const state = signal<'loading' | 'ready' | ApiError>('loading');

/** How long the first load waits for the gateway, in milliseconds: what happens between a load and the first READY would be missed. */
const gatewayMs = 2_000;

let loading = new AbortController();
let late: ReturnType<typeof setTimeout> | undefined;

/** A channel or server may be gone that the page still shows: the rest is loaded all the same. */
function ignoreRefused(fault: unknown): void {
  if (isPassing(asApiError(fault))) throw fault;
}

/**
 * Loads what the page shows, in place of what it knew. Tries again until it succeeds or another load begins; a fault of the first load is shown, and who shows
 * it tries again.
 */
async function load(): Promise<void> {
  clearTimeout(late);
  loading.abort();
  loading = new AbortController();
  const stopped = loading.signal;
  for (let failures = 0; !stopped.aborted; failures++)
    try {
      await refreshHistories(openChannel.value).catch(ignoreRefused);
      const lists = knownMemberLists().map((id) => loadMembers(id, true).catch(ignoreRefused));
      await Promise.all([loadSync(stopped), refreshUses(), ...lists]);
      if (!stopped.aborted) state.value = 'ready';
      return;
    } catch (fault) {
      if (stopped.aborted) return;
      if (state.value !== 'ready') {
        state.value = asApiError(fault);
        return;
      }
      await new Promise((done) => setTimeout(done, backoffMs(failures)));
    }
}

/** Connects to the gateway and loads what a person's page shows. A resumed session has received what it missed: nothing is loaded again. */
export function start(): void {
  stop();
  state.value = 'loading';
  late = setTimeout(() => void load(), gatewayMs);
  connect({
    onEvent: receive,
    onLive: (isResumed) => {
      if (!isResumed) void load();
      sendUnsentMarks();
      watchAnew();
    },
    onOffline: putOffline,
  });
}

/** Disconnects, and stops a load that is under way. */
export function stop(): void {
  clearTimeout(late);
  loading.abort();
  disconnect();
}
