import type { Message } from '../../../lib/contract/message.ts';
import type { Author, PublicUser } from '../../../lib/contract/user.ts';
import { dms } from './dms.ts';
import { change, histories } from './history-store.ts';
import { putUser } from './people.ts';
import { me } from './session.ts';

/** Returns the message with the new `author` wherever it shows that account; returns the same object when it does not show it. */
function withAuthor(message: Message, author: Author): Message {
  const { tag: _tag, ...face } = author;
  const { reply, interaction } = message;
  const inReply = reply?.author.id === face.id && { reply: { ...reply, author } };
  const inCommand = interaction?.user.id === face.id && { interaction: { ...interaction, user: face } };
  if (message.author.id !== face.id && !inReply && !inCommand) return message;
  return { ...message, ...(message.author.id === face.id && { author }), ...inReply, ...inCommand };
}

/** Updates an account everywhere on the page, after its name, avatar or tag changed. */
export function updateUser({ tag, ...face }: PublicUser): void {
  const author: Author = tag ? { ...face, tag } : face;
  const { id, username, displayName } = face;
  putUser(author);
  if (me.value?.id === id) me.value = { ...me.value, ...face, tag };
  dms.value = dms.value.map((dm) => (dm.recipient.id === id ? { ...dm, recipient: { ...dm.recipient, username, displayName } } : dm));
  // Copy the ids: a component that reacts to the change calls `historyOf`, which moves the history to the end of the map.
  const channelIds = [...histories.keys()];
  for (const channelId of channelIds) change(channelId, (messages) => messages.map((message) => withAuthor(message, author)));
}
