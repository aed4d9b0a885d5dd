import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { asApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { invoke } from '../../state/uses.ts';
import type { Place } from '../place.ts';
import type { CommandLine } from './command-line.ts';
import { findCommands } from './completion-suggest.ts';
import type { ChannelDraft } from './composer-drafts.ts';
import { wireOf } from './composer-tokens.ts';

/** What a use gives to its command: what was typed behind the name, or the options one by one. */
export type UseInput = { text: string } | { options: { name: string; value: string | number | boolean }[] };

/**
 * Uses a command. A use that was refused or of which nothing was heard goes under the same key when it is repeated as it was, so that the bot is not told twice.
 * Throws `ApiError`.
 */
export async function sendUse({ channelId }: Place, draft: ChannelDraft, command: PickerCommand, input: UseInput): Promise<void> {
  const body = JSON.stringify([command.id, input]);
  const key = draft.lastUse?.body === body ? draft.lastUse.key : newKey();
  draft.lastUse = { body, key };
  await invoke(channelId, { id: command.id, name: command.name, bot: command.application.name }, input, key);
  draft.lastUse = null;
}

/** Uses a command as it was typed; true when it was sent. Why not stands in the draft. */
export async function sendTyped(place: Place, draft: ChannelDraft, command: PickerCommand, rest: string): Promise<boolean> {
  try {
    await sendUse(place, draft, command, { text: wireOf(rest, draft.tokens, 'option') });
    return true;
  } catch (fault) {
    draft.lineFault.value = { kind: 'refused', error: asApiError(fault) };
    return false;
  }
}

/**
 * Uses the command that a text names: `sent`, or `message` when the text is a message after all, as that of a prefix command that begins with a slash. `kept`:
 * the draft says why it was not sent.
 */
export async function sendLine(place: Place, draft: ChannelDraft, { name, rest }: CommandLine): Promise<'sent' | 'message' | 'kept'> {
  let found: PickerCommand[];
  try {
    found = await findCommands(place.channelId, name);
  } catch (fault) {
    draft.lineFault.value = { kind: 'refused', error: asApiError(fault) };
    return 'kept';
  }
  const commands = found.filter((command) => command.kind === 'slash' && command.name === name);
  const [first] = commands;
  if (first && commands.length === 1) return (await sendTyped(place, draft, first, rest)) ? 'sent' : 'kept';
  if (first) draft.lineFault.value = { kind: 'several', commands };
  else if (found.some(({ kind, prefix = '', name: ending }) => kind === 'prefix' && `/${name}` === prefix + ending)) return 'message';
  else draft.lineFault.value = { kind: 'unknown', name };
  return 'kept';
}
