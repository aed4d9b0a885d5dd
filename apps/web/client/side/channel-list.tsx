import { useSignal } from '@preact/signals';
import { Hash, Megaphone, MessagesSquare, Settings, UserPlus, Volume2 } from 'lucide';
import type { JSX } from 'preact';
import { lazy, useLocation } from 'preact-iso';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { isUnread, mentionsIn } from '../../state/reads.ts';
import { myRights } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { IconButton } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { Icon } from '../../ui/icon.tsx';
import { holdsMessages, orderedChannels } from '../channel-context.ts';
import { mayInvite } from '../settings/invite-rights.ts';
import { collapsedCategories, setCollapsed } from './collapsed.ts';

const InviteDialog = lazy(() => import('../settings/invite-dialog.tsx').then((page) => page.InviteDialog));

const icons = { text: Hash, announcement: Megaphone, voice: Volume2, thread: MessagesSquare, category: Hash } as const;

/** The permission bits that give access to a page of the server settings. */
const settingsPermissions = 0b1_1111_1100_0000;

function Row({ channel, serverId, current }: { channel: Channel; serverId: string; current: boolean }): JSX.Element {
  const mentions = mentionsIn(channel.id);
  const unread = isUnread(channel.id);
  const name = channel.name ?? '';
  const className = holdsMessages(channel) ? (unread ? 'unread' : '') : 'soft';
  return (
    <a class={`channel-row ${className}`} href={`/servers/${serverId}/${channel.id}`} aria-current={current ? 'page' : undefined}>
      <Icon of={icons[channel.kind]} /> <span class="channel-name">{name}</span>
      {mentions > 0 ? (
        <span class="badge" aria-label={countOf(mentions, 'mention')}>
          {mentions}
        </span>
      ) : (
        unread && <span class="visually-hidden">unread</span>
      )}
    </a>
  );
}

/** A server's channels by category, with their threads and unread marks. */
export function ChannelList({ serverId }: { serverId: string }): JSX.Element {
  const { path } = useLocation();
  const { top, categories, threads } = orderedChannels(serverId);
  const server = servers.value.get(serverId);
  const isInviting = useSignal(false);
  const rows = (list: Channel[]): JSX.Element => (
    <ul>
      {list.map((channel) => (
        <li key={channel.id}>
          <Row channel={channel} serverId={serverId} current={path.endsWith(channel.id)} />
          {threads.has(channel.id) && (
            <ul class="thread-rows">
              {threads.get(channel.id)?.map((thread) => (
                <li key={thread.id}>
                  <Row channel={thread} serverId={serverId} current={path.endsWith(thread.id)} />
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
  return (
    <nav class="channel-list" aria-label="Channels">
      <header>
        <h2 title={server?.name}>{server?.name}</h2>
        {mayInvite(serverId) && <IconButton of={UserPlus} label="Invite people" onClick={() => (isInviting.value = true)} />}
        <a
          class="icon-button"
          href={`/servers/${serverId}/settings`}
          aria-label={myRights(serverId) & settingsPermissions ? 'Server settings' : 'About this server'}
          title={myRights(serverId) & settingsPermissions ? 'Server settings' : 'About this server'}
        >
          <Icon of={Settings} />
        </a>
      </header>
      <div class="scroll">
        {rows(top)}
        {categories.map(({ category, channels }) => (
          <details
            key={category.id}
            open={!collapsedCategories.value.includes(category.id)}
            onToggle={({ currentTarget }) => setCollapsed(category.id, !currentTarget.open)}
          >
            <summary>{category.name}</summary>
            {rows(channels)}
          </details>
        ))}
      </div>
      {isInviting.value && server && <InviteDialog server={server} onClose={() => (isInviting.value = false)} />}
    </nav>
  );
}
