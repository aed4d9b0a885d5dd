import { limits } from '../../../../lib/base/limits.ts';
import { countCodePoints, isBlank } from '../../../../lib/base/text.ts';
import { historyOf } from '../../state/histories.ts';
import { discard, type Outgoing, send } from '../../state/outgoing.ts';
import { withEntry } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { resetTyping } from '../../state/typing.ts';
import type { ChannelContext } from '../channel-context.ts';
import { commandLineOf } from './command-line.ts';
import { type ChannelDraft, draftFilesOf, draftOf } from './composer-drafts.ts';
import { cancelReply } from './composer-reply.tsx';
import { readableOf, toContent } from './composer-tokens.ts';
import { replying } from './composing.ts';
import { withEmojis } from './emoji-shortcodes.ts';
import { mentionNames } from './markup-text.ts';
import { runCommandLine } from './run-command.ts';
import { fileErrors } from './upload-checks.ts';

/** Returns the message content that a draft would send. */
export const contentOf = ({ text, tokens }: ChannelDraft): string => toContent(text.value.trim(), tokens, 'content');

/** Whether a draft can be sent. If not, the composer shows why: the counter, the note about slow mode, or the error of a file. */
export function canSend(draft: ChannelDraft, secondsLeft: number): boolean {
  const content = contentOf(draft);
  const files = draft.files.value.map(({ file }) => file);
  const isEmpty = isBlank(content) && files.length === 0;
  const isTooLong = countCodePoints(content) > limits.messageChars;
  return !isEmpty && !isTooLong && secondsLeft === 0 && fileErrors(files).every((fault) => fault === null);
}

/** Empties a draft after it was sent. */
function clear(draft: ChannelDraft): void {
  draft.text.value = '';
  draft.files.value = [];
  draft.commandError.value = null;
  draft.isPinging.value = true;
  draft.tokens.clear();
}

/** Sends a draft as a message, even when it begins with a slash. */
export async function sendMessage({ channelId }: ChannelContext, draft: ChannelDraft): Promise<void> {
  const textBefore = draft.text.value;
  const content = await withEmojis(contentOf(draft));
  // The text changed while the emoji were loading. It is sent when Enter is pressed again.
  if (draft.text.value !== textBefore) return;
  send(channelId, {
    content,
    files: draft.files.value.map(({ file }) => file),
    replyTo: replying.value.get(channelId) ?? null,
    mentionReply: draft.isPinging.value,
  });
  cancelReply(channelId);
  resetTyping();
  clear(draft);
}

/** Inserts a content into a draft, before the text there, with mentions shown by name. */
export function insertContent(draft: ChannelDraft, content: string, serverId: string | null): void {
  const isEmpty = draft.text.value === '';
  // When there is other text, a word in it may already have another meaning, so the content is inserted as it was sent.
  const readable = isEmpty ? readableOf(content, mentionNames(serverId)) : { text: content, tokens: [] };
  for (const [word, meaning] of readable.tokens) draft.tokens.set(word, meaning);
  draft.text.value = isEmpty ? readable.text : `${readable.text}\n${draft.text.value}`;
}

/** Moves a message that was refused back into its channel's composer, before the text there. */
export function moveToComposer({ key, channelId, content, files, replyTo, mentionReply, error }: Outgoing, serverId: string | null): void {
  const draft = draftOf(channelId);
  insertContent(draft, content, serverId);
  draft.files.value = [...draftFilesOf(files), ...draft.files.value];
  draft.isPinging.value = mentionReply;
  if (replyTo && !error?.at('/replyTo')) replying.value = withEntry(replying.value, channelId, replyTo);
  discard(key);
  document.querySelector<HTMLTextAreaElement>('.composer-text')?.focus();
}

/** Sends a draft: as a command when it begins with one, otherwise as a message. Does nothing when it cannot be sent. */
export async function sendDraft(context: ChannelContext, draft: ChannelDraft, secondsLeft: number): Promise<void> {
  const line = draft.files.value.length === 0 ? commandLineOf(draft.text.value) : null;
  // Slow mode does not apply to commands.
  if (!canSend(draft, line ? 0 : secondsLeft)) return;
  const written = draft.text.value;
  const outcome = line ? await runCommandLine(context, draft, line) : 'message';
  // Keep text that was changed while the command was looked up.
  if (draft.text.value !== written) return;
  if (outcome === 'sent') clear(draft);
  if (outcome === 'message') await sendMessage(context, draft);
}

/** Returns the id of the user's last loaded message in a channel, which ↑ edits; undefined when there is none. Ephemeral messages are skipped. */
export const lastOwnMessage = ({ channelId }: ChannelContext): string | undefined =>
  historyOf(channelId).messages.value.findLast(({ author, ephemeral }) => author.id === myId() && !ephemeral)?.id;
