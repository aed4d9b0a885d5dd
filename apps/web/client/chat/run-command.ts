import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { asApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { invoke } from '../../state/pending-commands.ts';
import type { ChannelContext } from '../channel-context.ts';
import type { CommandLine } from './command-line.ts';
import { findCommands } from './completion-suggest.ts';
import type { ChannelDraft } from './composer-drafts.ts';
import { toContent } from './composer-tokens.ts';

/** The input of a command: the text after its name, or the single options. */
export type RunInput = { text: string } | { options: { name: string; value: string | number | boolean }[] };

/**
 * Runs a command. When the same command and input is sent again after an error or without a response, it uses the same key, so that the bot gets it only
 * once. Throws `ApiError`.
 */
export async function runCommand(
  { channelId }: ChannelContext,
  draft: ChannelDraft,
  command: PickerCommand,
  input: RunInput,
): Promise<void> {
  const body = JSON.stringify([command.id, input]);
  const key = draft.lastRun?.body === body ? draft.lastRun.key : newKey();
  draft.lastRun = { body, key };
  await invoke(channelId, { id: command.id, name: command.name, bot: command.application.name }, input, key);
  draft.lastRun = null;
}

/** Runs a command that was typed as text. Returns true when it was sent; otherwise sets `commandError` of the draft. */
export async function runTypedCommand(
  context: ChannelContext,
  draft: ChannelDraft,
  command: PickerCommand,
  rest: string,
): Promise<boolean> {
  try {
    await runCommand(context, draft, command, { text: toContent(rest, draft.tokens, 'option') });
    return true;
  } catch (fault) {
    draft.commandError.value = { kind: 'refused', error: asApiError(fault) };
    return false;
  }
}

/**
 * Runs the command that a text names. Returns `sent`; or `message` when the text is a message instead, because it is a prefix command whose prefix begins
 * with a slash; or `unsent` when it was not sent, with the reason in `commandError` of the draft.
 */
export async function runCommandLine(
  context: ChannelContext,
  draft: ChannelDraft,
  { name, rest }: CommandLine,
): Promise<'sent' | 'message' | 'unsent'> {
  let found: PickerCommand[];
  try {
    found = await findCommands(context.channelId, name);
  } catch (fault) {
    draft.commandError.value = { kind: 'refused', error: asApiError(fault) };
    return 'unsent';
  }
  const commands = found.filter((command) => command.kind === 'slash' && command.name === name);
  const [first] = commands;
  if (first && commands.length === 1) return (await runTypedCommand(context, draft, first, rest)) ? 'sent' : 'unsent';
  if (first) draft.commandError.value = { kind: 'several', commands };
  else if (found.some(({ kind, prefix = '', name: ending }) => kind === 'prefix' && `/${name}` === prefix + ending)) return 'message';
  else draft.commandError.value = { kind: 'unknown', name };
  return 'unsent';
}
