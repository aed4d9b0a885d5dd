import { limits } from '../../../../lib/base/limits.ts';
import { isBlank, lengthOf } from '../../../../lib/base/text.ts';
import { historyOf } from '../../state/histories.ts';
import { discard, type Outgoing, send } from '../../state/outgoing.ts';
import { withEntry } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { typingEnded } from '../../state/typing.ts';
import { say } from '../../ui/toast.tsx';
import type { Place } from '../place.ts';
import { commandLineOf } from './command-line.ts';
import { sendLine } from './command-use.ts';
import { type ChannelDraft, draftOf, picked } from './composer-drafts.ts';
import { stopReplying } from './composer-reply.tsx';
import { readableOf, wireOf } from './composer-tokens.ts';
import { replying } from './composing.ts';
import { withEmojis } from './emoji-shortcodes.ts';
import { mentionNames } from './markup-text.ts';
import { fileFaults } from './upload-checks.ts';

/** Returns the message content that a draft would send. */
export const contentOf = ({ text, tokens }: ChannelDraft): string => wireOf(text.value.trim(), tokens, 'content');

/** Returns why a draft cannot be sent; null when it can be, `empty` when there is nothing to send. */
export function obstacleOf(draft: ChannelDraft, secondsLeft: number): string | null {
  const content = contentOf(draft);
  const files = draft.files.value.map(({ file }) => file);
  if (isBlank(content) && files.length === 0) return 'empty';
  if (lengthOf(content) > limits.messageChars) return `A message holds at most ${limits.messageChars} characters.`;
  if (fileFaults(files).some((fault) => fault !== null)) return 'Remove the files that cannot be sent first.';
  return secondsLeft > 0 ? `Slow mode: you can write again in ${secondsLeft} s.` : null;
}

/** Empties a draft after it was sent. */
function clear(draft: ChannelDraft): void {
  draft.text.value = '';
  draft.files.value = [];
  draft.lineFault.value = null;
  draft.pings.value = true;
  draft.tokens.clear();
}

/** Sends a draft as a message, even when it begins with a slash. */
export async function sendMessage({ channelId }: Place, draft: ChannelDraft): Promise<void> {
  const written = draft.text.value;
  const content = await withEmojis(contentOf(draft));
  // The text changed while the emoji were loading. It is sent when Enter is pressed again.
  if (draft.text.value !== written) return;
  send(channelId, {
    content,
    files: draft.files.value.map(({ file }) => file),
    replyTo: replying.value.get(channelId) ?? null,
    mentionReply: draft.pings.value,
  });
  stopReplying(channelId);
  typingEnded();
  clear(draft);
}

/** Moves a message that was refused back into its channel's composer, before the text there. */
export function takeBack({ key, channelId, content, files, replyTo, mentionReply, error }: Outgoing, serverId: string | null): void {
  const draft = draftOf(channelId);
  const isEmpty = draft.text.value === '';
  // When there is other text, a word in it may already have another meaning, so the content is inserted as it was sent.
  const readable = isEmpty ? readableOf(content, mentionNames(serverId)) : { text: content, tokens: [] };
  for (const [word, meaning] of readable.tokens) draft.tokens.set(word, meaning);
  draft.text.value = isEmpty ? readable.text : `${readable.text}\n${draft.text.value}`;
  draft.files.value = [...picked(files), ...draft.files.value];
  draft.pings.value = mentionReply;
  if (replyTo && !error?.at('/replyTo')) replying.value = withEntry(replying.value, channelId, replyTo);
  discard(key);
  document.querySelector<HTMLTextAreaElement>('.composer-text')?.focus();
}

/** Sends a draft: as a command when it begins with one, otherwise as a message. Shows why when it cannot be sent. */
export async function sendDraft(place: Place, draft: ChannelDraft, secondsLeft: number): Promise<void> {
  const line = draft.files.value.length === 0 ? commandLineOf(draft.text.value) : null;
  // Slow mode does not apply to commands.
  const obstacle = obstacleOf(draft, line ? 0 : secondsLeft);
  if (obstacle !== null) {
    if (obstacle !== 'empty') say(obstacle, true);
    return;
  }
  const written = draft.text.value;
  const outcome = line ? await sendLine(place, draft, line) : 'message';
  // Keep text that was changed while the command was looked up.
  if (draft.text.value !== written) return;
  if (outcome === 'sent') clear(draft);
  if (outcome === 'message') await sendMessage(place, draft);
}

/** Returns the id of the user's last loaded message in a channel, which ↑ edits; undefined when there is none. Ephemeral messages are skipped. */
export const lastOwnMessage = ({ channelId }: Place): string | undefined =>
  historyOf(channelId).messages.value.findLast(({ author, ephemeral }) => author.id === myId() && !ephemeral)?.id;
