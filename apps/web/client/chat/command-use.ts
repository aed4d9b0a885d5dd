import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { asApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { invoke } from '../../state/uses.ts';
import type { Place } from '../place.ts';
import type { CommandLine } from './command-line.ts';
import { findCommands } from './completion-suggest.ts';
import type { ChannelDraft } from './composer-drafts.ts';
import { wireOf } from './composer-tokens.ts';

/** The input of a command: the text after its name, or the single options. */
export type UseInput = { text: string } | { options: { name: string; value: string | number | boolean }[] };

/**
 * Runs a command. When the same command and input is sent again after an error or without a response, it uses the same key, so that the bot gets it only
 * once. Throws `ApiError`.
 */
export async function sendUse({ channelId }: Place, draft: ChannelDraft, command: PickerCommand, input: UseInput): Promise<void> {
  const body = JSON.stringify([command.id, input]);
  const key = draft.lastUse?.body === body ? draft.lastUse.key : newKey();
  draft.lastUse = { body, key };
  await invoke(channelId, { id: command.id, name: command.name, bot: command.application.name }, input, key);
  draft.lastUse = null;
}

/** Runs a command that was typed as text. Returns true when it was sent; otherwise sets `lineFault` of the draft. */
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
 * Runs the command that a text names. Returns `sent`; or `message` when the text is a message instead, because it is a prefix command whose prefix begins
 * with a slash; or `kept` when it was not sent, with the reason in `lineFault` of the draft.
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
