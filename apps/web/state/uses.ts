import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { InteractionState, InteractionView, Invoked } from '../../../lib/contract/interaction.ts';
import { ApiError, call, path } from '../api/call.ts';
import { say } from '../ui/toast.tsx';

/** A slash command that the user ran and whose response is not on the screen yet. */
export interface Use {
  id: string;
  channelId: string;
  command: string;
  bot: string;
  state: InteractionState;
  /** When the command was run, in milliseconds of this page's clock. */
  at: number;
}

/** The command uses to show: waiting, deferred or expired. */
export const uses = signal<readonly Use[]>([]);
/** States that arrived by the gateway before the response to the invocation. */
const early = new Map<string, InteractionState>();
/** The maximum number of uses that are kept on the screen. */
const mostShown = 20;
/** How long after a time limit a use without news is checked, in milliseconds. */
const lateMs = 2_000;

/** Runs a command. Throws `ApiError`: `invalid_options` for invalid options, `bot_offline` when the bot is not connected. */
export async function invoke(
  channelId: string,
  command: { id: string; name: string; bot: string },
  input: { text: string } | { options: { name: string; value: string | number | boolean }[] },
  key: string,
): Promise<void> {
  const { id, state } = await call<Invoked>('POST', path`/api/channels/${channelId}/commands/${command.id}/invoke`, input, { key });
  const use: Use = { id, channelId, command: command.name, bot: command.bot, state: early.get(id) ?? state, at: Date.now() };
  early.delete(id);
  if (use.state === 'answered') return;
  uses.value = [...uses.value, use].slice(-mostShown);
  watch(id, use.state);
}

/** Ensures that a use does not wait forever. A use without news is loaded again; a deferred use without a follow-up in time becomes expired. */
function watch(id: string, state: InteractionState): void {
  const still = (): boolean => uses.value.some((use) => use.id === id && use.state === state);
  if (state === 'created') setTimeout(() => still() && void refreshUse(id).catch(() => watch(id, state)), limits.answerWindowMs + lateMs);
  if (state === 'deferred') setTimeout(() => still() && noteUse(id, 'expired'), limits.followupWindowMs + lateMs);
}

/** Applies a state to a use. An answered use is removed, because its response message is on the screen. */
export function noteUse(id: string, state: InteractionState): void {
  if (!uses.value.some((use) => use.id === id)) {
    early.set(id, state);
    if (early.size > mostShown) early.delete(early.keys().next().value ?? '');
    return;
  }
  uses.value = uses.value.flatMap((use) => (use.id !== id ? [use] : state === 'answered' ? [] : [{ ...use, state }]));
  if (state === 'deferred') watch(id, state);
}

/** Removes a use from the screen. */
export const dismissUse = (id: string): void => {
  uses.value = uses.value.filter((use) => use.id !== id);
};

/** Loads the state of a use. If an ephemeral response was sent while the page was disconnected, it is lost, and a notice says so. Throws `ApiError`. */
async function refreshUse(id: string): Promise<void> {
  const use = uses.value.find((one) => one.id === id);
  if (!use) return;
  try {
    const { state, messageId } = await call<InteractionView>('GET', path`/api/interactions/${id}`);
    const there = uses.value.some((one) => one.id === id);
    if (there && state === 'answered' && messageId === null)
      say(`/${use.command} was answered while you were disconnected. Use it again to see the answer.`);
    if (there) noteUse(id, state);
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
    dismissUse(id);
  }
}

/** Loads the state of the pending uses on the screen, after events may have been missed. Throws `ApiError`. */
export async function refreshUses(): Promise<void> {
  for (const { id, state } of uses.value) if (state === 'created' || state === 'deferred') await refreshUse(id);
}
