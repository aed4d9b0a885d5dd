import { useSignal } from '@preact/signals';
import { Compass, MessageCircle, Plus } from 'lucide';
import type { JSX } from 'preact';
import { dms } from '../../state/dms.ts';
import { isUnread, mentionsIn } from '../../state/reads.ts';
import { servers } from '../../state/servers.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { IconButton } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { holdsMessages } from '../channel-context.ts';
import { JoinForm, NewServer } from '../home.tsx';

/** Returns how many unread messages of a server mention the user, and whether the server has unread messages. */
function unreadStateOf(serverId: string): { unread: boolean; mentions: number } {
  const ids = (servers.value.get(serverId)?.channels ?? []).filter(holdsMessages).map(({ id }) => id);
  return { unread: ids.some(isUnread), mentions: ids.reduce((sum, id) => sum + mentionsIn(id), 0) };
}

/** Returns the text of a mark for a screen reader. */
const unreadText = ({ unread, mentions }: { unread: boolean; mentions: number }): string =>
  mentions ? `, ${countOf(mentions, 'mention')}` : unread ? ', unread' : '';

/** The bar of servers at the edge of the page, with the DMs first and unread marks. */
export function ServerRail({ current }: { current: string | undefined }): JSX.Element {
  const isAdding = useSignal(false);
  const dmUnread = dms.value.filter(({ id }) => isUnread(id)).length;
  return (
    <nav class="rail" aria-label="Servers">
      <ul>
        <li class={dmUnread ? 'unread' : ''}>
          <a class="rail-link" href="/dms" title="Direct messages">
            <Icon of={MessageCircle} size="1.6rem" />
            <span class="visually-hidden">Direct messages{dmUnread > 0 && `, ${dmUnread} unread`}</span>
            {dmUnread > 0 && (
              <span class="badge" aria-hidden="true">
                {dmUnread}
              </span>
            )}
          </a>
        </li>
        {[...servers.value.values()].map((server) => {
          const unreadState = unreadStateOf(server.id);
          return (
            <li key={server.id} class={unreadState.unread ? 'unread' : ''}>
              <a
                class="rail-link"
                href={`/servers/${server.id}`}
                aria-current={server.id === current ? 'true' : undefined}
                title={server.name}
              >
                <Avatar id={server.id} name={server.name} url={server.iconUrl} size={46} square />
                {unreadState.mentions > 0 && (
                  <span class="badge" aria-hidden="true">
                    {unreadState.mentions}
                  </span>
                )}
                <span class="visually-hidden">{server.name + unreadText(unreadState)}</span>
              </a>
            </li>
          );
        })}
        <li>
          <IconButton of={Plus} label="Create or join a server" class="rail-link" onClick={() => (isAdding.value = true)} />
        </li>
        <li>
          <a class="rail-link" href="/discovery" aria-label="Discovery" title="Discovery">
            <Icon of={Compass} size="1.6rem" />
          </a>
        </li>
      </ul>
      {isAdding.value && (
        <Dialog title="Add a server" onClose={() => (isAdding.value = false)}>
          <h3>Create a server</h3>
          <NewServer onCreated={() => (isAdding.value = false)} />
          <h3>Join with an invite</h3>
          <JoinForm onDone={() => (isAdding.value = false)} />
        </Dialog>
      )}
    </nav>
  );
}
