import type { Message } from '../../../lib/contract/message.ts';
import type { GatewayEvent } from '../api/gateway.ts';
import { noteDmMessage } from './dms.ts';
import { addMessage, changeReaction, dropHistory, removeMessage, replaceMessage } from './histories.ts';
import { removeDelivered } from './outgoing.ts';
import { setCommandState } from './pending-commands.ts';
import { dropMember, dropMembers, putMember, putPresence, removeRoleFromMembers } from './people.ts';
import { editedPin, pinsChanged } from './pins.ts';
import { noteDeleted, noteMention, noteMessage, noteRead } from './reads.ts';
import { changeServer, dropChannel, dropRole, dropServer, loadServer, putChannel, putRole, putServer, servers } from './servers.ts';
import { myId } from './session.ts';
import { countInThread } from './thread-counts.ts';
import { noteTyping, stopTyping } from './typing.ts';
import { updateUser } from './users.ts';

/** Whether a message mentions the user: by name, by one of the user's roles, or with everyone. */
export function mentionsMe({ mentions, mentionRoles, mentionEveryone, serverId }: Message): boolean {
  const myRoles = servers.value.get(serverId ?? '')?.myRoles ?? [];
  return mentionEveryone || mentions.includes(myId()) || mentionRoles.some((id) => myRoles.includes(id));
}

function onMessage(message: Message): void {
  const { id, channelId, author, nonce, ephemeral, serverId } = message;
  const mine = author.id === myId();
  addMessage(message);
  stopTyping(channelId, author.id);
  if (mine) removeDelivered(nonce);
  if (ephemeral) return;
  noteMessage(channelId, id, mine, mentionsMe(message));
  if (!serverId) noteDmMessage(channelId, id);
  else countInThread(channelId, 1);
}

/** Applies one gateway event to the state of the page. */
export function dispatch(event: GatewayEvent): void {
  switch (event.t) {
    case 'MESSAGE_CREATE':
      return onMessage(event.d);
    case 'MESSAGE_UPDATE':
      if (!event.d.ephemeral && event.d.author.id !== myId()) noteMention(event.d.channelId, event.d.id, mentionsMe(event.d));
      if (event.d.pinned) editedPin.value = event.d;
      return replaceMessage(event.d);
    case 'MESSAGE_DELETE':
      countInThread(event.d.channelId, -1);
      noteDeleted(event.d.channelId, event.d.id);
      return removeMessage(event.d.channelId, event.d.id);
    case 'REACTION_ADD':
    case 'REACTION_REMOVE': {
      const { channelId, messageId, emoji, userId } = event.d;
      return changeReaction(channelId, messageId, emoji, event.t === 'REACTION_ADD' ? 1 : -1, userId === myId());
    }
    case 'PINS_UPDATE':
      return pinsChanged(event.d.channelId);
    case 'TYPING_START':
      if (event.d.userId !== myId()) noteTyping(event.d.channelId, event.d.userId);
      return;
    case 'CHANNEL_CREATE':
    case 'CHANNEL_UPDATE':
      return putChannel(event.d);
    case 'CHANNEL_DELETE':
      for (const id of [event.d.id, ...dropChannel(event.d.serverId, event.d.id)]) dropHistory(id);
      return;
    case 'MEMBER_ADD':
    case 'MEMBER_UPDATE': {
      const { serverId, member } = event.d;
      putMember(serverId, member);
      changeServer(serverId, (server) => ({
        ...server,
        ...(member.isOwner && { ownerId: member.user.id }),
        ...(member.user.id === myId() && { myRoles: member.roles }),
      }));
      return;
    }
    case 'MEMBER_REMOVE':
      return dropMember(event.d.serverId, event.d.userId);
    case 'ROLE_CREATE':
    case 'ROLE_UPDATE':
      return putRole(event.d.serverId, event.d.role);
    case 'ROLE_DELETE':
      removeRoleFromMembers(event.d.serverId, event.d.roleId);
      return dropRole(event.d.serverId, event.d.roleId);
    case 'SERVER_CREATE':
      return putServer(event.d);
    case 'SERVER_UPDATE':
      changeServer(event.d.id, (server) => ({ ...server, ...event.d }));
      // The summary does not say whether invites are paused.
      if (servers.value.has(event.d.id)) void loadServer(event.d.id).catch(() => undefined);
      return;
    case 'SERVER_DELETE':
      dropMembers(event.d.id);
      for (const { id } of servers.value.get(event.d.id)?.channels ?? []) dropHistory(id);
      return dropServer(event.d.id);
    case 'PRESENCE_UPDATE':
      return putPresence(event.d.userId, event.d);
    case 'USER_UPDATE':
      return updateUser(event.d);
    case 'INTERACTION_UPDATE':
      return setCommandState(event.d.id, event.d.endpointFailed ? 'failing' : event.d.state);
    case 'READ_UPDATE':
      return noteRead(event.d.channelId, event.d.messageId);
    case 'INTERACTION_CREATE':
      // This event is for bots only.
      return;
  }
}
