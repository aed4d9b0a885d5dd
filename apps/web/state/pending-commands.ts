import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { InteractionState, InteractionView, InvokeResult } from '../../../lib/contract/interaction.ts';
import { ApiError, call, path } from '../api/call.ts';
import { showToast } from '../ui/toast.tsx';
import { lastSent } from './outgoing.ts';

/** The state of an interaction; `failing` while its endpoint has failed and the bot can still answer in another way. */
export type CommandState = InteractionState | 'failing';

/** A slash command that the user ran and whose response is not on the screen yet. */
export interface PendingCommand {
  id: string;
  channelId: string;
  command: string;
  bot: string;
  state: CommandState;
  /** When the command was run, in milliseconds of this page's clock. */
  at: number;
}

/** The commands to show: waiting, deferred or expired. */
export const pendingCommands = signal<readonly PendingCommand[]>([]);
/** States that arrived by the gateway before the response to the invocation. */
const earlyStates = new Map<string, CommandState>();
/** The maximum number of commands that are kept on the screen. */
const maxShown = 20;
/** How long after a time limit a command without an update is checked, in milliseconds. */
const graceMs = 2_000;

/** Runs a command. Throws `ApiError`: `invalid_options` for invalid options, `bot_offline` when the bot is not connected. */
export async function invoke(
  channelId: string,
  command: { id: string; name: string; bot: string },
  input: { text: string } | { options: { name: string; value: string | number | boolean }[] },
  key: string,
): Promise<void> {
  lastSent.value = { channelId };
  const { id, state } = await call<InvokeResult>('POST', path`/api/channels/${channelId}/commands/${command.id}/invoke`, input, { key });
  const pending: PendingCommand = {
    id,
    channelId,
    command: command.name,
    bot: command.bot,
    state: earlyStates.get(id) ?? state,
    at: Date.now(),
  };
  earlyStates.delete(id);
  if (pending.state === 'answered') return;
  pendingCommands.value = [...pendingCommands.value, pending].slice(-maxShown);
  watchTimeout(id, pending.state);
}

/** Ensures that a command does not wait forever. A command without an update is loaded again; a deferred one without a follow-up in time expires. */
function watchTimeout(id: string, state: CommandState): void {
  const isUnchanged = (): boolean => pendingCommands.value.some((pending) => pending.id === id && pending.state === state);
  if (state === 'created' || state === 'failing')
    setTimeout(() => isUnchanged() && void refreshCommand(id).catch(() => watchTimeout(id, state)), limits.answerWindowMs + graceMs);
  if (state === 'deferred') setTimeout(() => isUnchanged() && setCommandState(id, 'expired'), limits.followupWindowMs + graceMs);
}

/** Applies a state to a command. An answered command is removed, because its response message is on the screen. */
export function setCommandState(id: string, state: CommandState): void {
  if (!pendingCommands.value.some((pending) => pending.id === id)) {
    earlyStates.set(id, state);
    if (earlyStates.size > maxShown) earlyStates.delete(earlyStates.keys().next().value ?? '');
    return;
  }
  pendingCommands.value = pendingCommands.value.flatMap((pending) =>
    pending.id !== id ? [pending] : state === 'answered' ? [] : [{ ...pending, state }],
  );
  if (state === 'deferred' || state === 'failing') watchTimeout(id, state);
}

/** Removes a command from the screen. */
export const dismissCommand = (id: string): void => {
  pendingCommands.value = pendingCommands.value.filter((pending) => pending.id !== id);
};

/** Loads the state of a command. If an ephemeral response was sent while the page was disconnected, it is lost, and a notice says so. Throws `ApiError`. */
async function refreshCommand(id: string): Promise<void> {
  const pending = pendingCommands.value.find((one) => one.id === id);
  if (!pending) return;
  try {
    const { state, messageId } = await call<InteractionView>('GET', path`/api/interactions/${id}`);
    const isShown = pendingCommands.value.some((one) => one.id === id);
    if (isShown && state === 'answered' && messageId === null)
      showToast(`${pending.bot} answered /${pending.command} while you were disconnected. Run the command again to see the response.`);
    if (isShown) setCommandState(id, state);
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
    dismissCommand(id);
  }
}

/** Loads the state of the pending commands on the screen, after events may have been missed. Throws `ApiError`. */
export async function refreshCommands(): Promise<void> {
  for (const { id, state } of pendingCommands.value) if (state !== 'expired' && state !== 'answered') await refreshCommand(id);
}
