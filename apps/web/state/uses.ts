import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { InteractionState, InteractionView, Invoked } from '../../../lib/contract/interaction.ts';
import { ApiError, call, path } from '../api/call.ts';
import { say } from '../ui/toast.tsx';

/** A slash command that the person used and whose answer is not on the screen yet. */
export interface Use {
  id: string;
  channelId: string;
  command: string;
  bot: string;
  state: InteractionState;
  /** When it was used, in milliseconds of this page's clock. */
  at: number;
}

/** The uses to show: those that wait, think or were not answered. */
export const uses = signal<readonly Use[]>([]);
/** States told before the answer to the use itself came: the gateway may be faster. */
const early = new Map<string, InteractionState>();
/** Uses not answered that stay on the screen at most. */
const mostShown = 20;
/** When a use is looked at that nothing was heard of, this long after a window ended, in milliseconds. */
const lateMs = 2_000;

/** Uses a command. Throws `ApiError`: bad options as `invalid_options`, a bot that is away as `bot_offline`. */
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

/** Makes sure that a use does not wait for ever: one that nothing is heard of is read, and one that is not followed up in time was not answered. */
function watch(id: string, state: InteractionState): void {
  const still = (): boolean => uses.value.some((use) => use.id === id && use.state === state);
  if (state === 'created') setTimeout(() => still() && void refreshUse(id).catch(() => watch(id, state)), limits.answerWindowMs + lateMs);
  if (state === 'deferred') setTimeout(() => still() && noteUse(id, 'expired'), limits.followupWindowMs + lateMs);
}

/** Takes in a state of a use. An answered one is on the screen by its message, and is dropped. */
export function noteUse(id: string, state: InteractionState): void {
  if (!uses.value.some((use) => use.id === id)) {
    early.set(id, state);
    if (early.size > mostShown) early.delete(early.keys().next().value ?? '');
    return;
  }
  uses.value = uses.value.flatMap((use) => (use.id !== id ? [use] : state === 'answered' ? [] : [{ ...use, state }]));
  if (state === 'deferred') watch(id, state);
}

/** Takes a use off the screen. */
export const dismissUse = (id: string): void => {
  uses.value = uses.value.filter((use) => use.id !== id);
};

/** Reads how a use stands. One answered for the person's eyes only while nothing was heard is gone: that is said. Throws `ApiError`. */
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

/** Reads how the uses on the screen stand: after a gap nobody told. Throws `ApiError`. */
export async function refreshUses(): Promise<void> {
  for (const { id, state } of uses.value) if (state === 'created' || state === 'deferred') await refreshUse(id);
}
