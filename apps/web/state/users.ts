import type { Message } from '../../../lib/contract/message.ts';
import type { Author, PublicUser } from '../../../lib/contract/user.ts';
import { dms } from './dms.ts';
import { changeMessages, histories } from './history-store.ts';
import { replaceUser } from './people.ts';
import { me } from './session.ts';

/** Returns the message with the new `author` wherever it shows that account; returns the same object when it does not show it. */
function withAuthor(message: Message, author: Author): Message {
  const { tag: _tag, ...user } = author;
  const { reply, interaction } = message;
  const inReply = reply?.author.id === user.id && { reply: { ...reply, author } };
  const inCommand = interaction?.user.id === user.id && { interaction: { ...interaction, user } };
  if (message.author.id !== user.id && !inReply && !inCommand) return message;
  return { ...message, ...(message.author.id === user.id && { author }), ...inReply, ...inCommand };
}

/** Updates an account everywhere on the page, after its name, avatar or tag changed. */
export function updateUser({ tag, ...user }: PublicUser): void {
  const author: Author = tag ? { ...user, tag } : user;
  const { id, username, displayName } = user;
  replaceUser(author);
  if (me.value?.id === id) me.value = { ...me.value, ...user, tag };
  dms.value = dms.value.map((dm) => (dm.recipient.id === id ? { ...dm, recipient: { ...dm.recipient, username, displayName } } : dm));
  // Copy the ids: a component that reacts to the change calls `historyOf`, which moves the history to the end of the map.
  const channelIds = [...histories.keys()];
  for (const channelId of channelIds) changeMessages(channelId, (messages) => messages.map((message) => withAuthor(message, author)));
}
