import { signal } from '@preact/signals';
import { backoffMs } from '../api/backoff.ts';
import { type ApiError, asApiError } from '../api/call.ts';
import { connect, disconnect } from '../api/gateway.ts';
import { isTemporary } from '../ui/use-retry.ts';
import { refreshHistories } from './histories.ts';
import { refreshCommands } from './pending-commands.ts';
import { loadedMemberLists, loadMembers } from './people.ts';
import { pinsChanged } from './pins.ts';
import { sendUnsentMarks } from './reads.ts';
import { checkSession } from './session.ts';
import { loadSync, receiveEvent } from './sync.ts';
import { putOffline, sendWatchAgain } from './watch.ts';

/** The channel on the screen. Its messages are refreshed first. */
export const openChannel = signal<string | undefined>(undefined);

/** Whether the page can be shown: `loading`, an error, or `ready`. */
export const loadState = signal<'loading' | 'ready' | ApiError>('loading');

/** How long the first load waits for the gateway, in milliseconds. Events between an earlier load and the first READY would be missed. */
const gatewayWaitMs = 2_000;

let loading = new AbortController();
let gatewayTimer: ReturnType<typeof setTimeout> | undefined;

/** Ignores errors that do not pass by themselves: a channel or server that the page shows may be deleted, and the rest is loaded anyway. */
function ignorePermanentError(fault: unknown): void {
  if (isTemporary(asApiError(fault))) throw fault;
}

/**
 * Loads what the page shows and replaces its state. Retries until it succeeds or another load begins. An error of the first load is shown instead, and the
 * component that shows it can retry.
 */
async function load(): Promise<void> {
  clearTimeout(gatewayTimer);
  loading.abort();
  loading = new AbortController();
  const stopped = loading.signal;
  for (let failures = 0; !stopped.aborted; failures++)
    try {
      await refreshHistories(openChannel.value).catch(ignorePermanentError);
      if (openChannel.value !== undefined && loadState.value === 'ready') pinsChanged(openChannel.value);
      const lists = loadedMemberLists().map((id) => loadMembers(id, true).catch(ignorePermanentError));
      await Promise.all([loadSync(stopped), refreshCommands(), ...lists]);
      if (!stopped.aborted) loadState.value = 'ready';
      return;
    } catch (fault) {
      if (stopped.aborted) return;
      if (loadState.value !== 'ready') {
        loadState.value = asApiError(fault);
        return;
      }
      await new Promise((done) => setTimeout(done, backoffMs(failures)));
    }
}

/** Connects to the gateway and loads the user's data. After a resumed session nothing is loaded again, because it received the missed events. */
export function start(): void {
  stop();
  loadState.value = 'loading';
  gatewayTimer = setTimeout(() => void load(), gatewayWaitMs);
  connect({
    onEvent: receiveEvent,
    onLive: (isResumed) => {
      if (!isResumed) void load();
      sendUnsentMarks();
      sendWatchAgain();
    },
    onOffline: putOffline,
    onRefused: () => void checkSession(),
  });
}

/** Disconnects, and aborts a load that is in progress. */
export function stop(): void {
  clearTimeout(gatewayTimer);
  loading.abort();
  disconnect();
}
