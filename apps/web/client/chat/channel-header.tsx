import { type Signal, useSignal } from '@preact/signals';
import { Archive, ArrowLeft, MessagesSquare, Pin, Rss, Timer, Users } from 'lucide';
import type { JSX } from 'preact';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { presenceOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { channels } from '../../state/servers.ts';
import { statusNames } from '../../ui/avatar.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { spanOf } from '../../ui/times.ts';
import { type ChannelContext, isSystemDm, pathOf } from '../channel-context.ts';
import { PageHeader } from '../page.tsx';
import { FollowDialog } from '../panels/follow-dialog.tsx';
import { setArchived } from '../panels/threads-panel.tsx';
import { openProfile } from '../people/open-profile.ts';
import { usePresences } from '../people/use-presences.ts';
import { Markup } from './markup.tsx';

/** The panel beside the messages. */
export type Side = 'members' | 'pins' | 'threads' | null;

/** Short marks for the settings of a channel: slow mode, 18+, archived. */
function ChannelMarks({ channel }: { channel: Channel }): JSX.Element {
  const { slowmodeSecs, contentMode, archived } = channel;
  return (
    <>
      {slowmodeSecs ? (
        <span class="mark" title={`Slow mode: one message every ${spanOf(slowmodeSecs)}`}>
          <Icon of={Timer} size="1em" /> {spanOf(slowmodeSecs)}
        </span>
      ) : null}
      {contentMode === 'age_restricted' && <span class="mark">18+</span>}
      {contentMode === 'spoiler' && <span class="mark">Spoiler</span>}
      {archived && (
        <span class="mark">
          <Icon of={Archive} size="1em" /> Archived
        </span>
      )}
    </>
  );
}

function Topic({ context }: { context: ChannelContext }): JSX.Element | null {
  const open = useSignal(false);
  const topic = context.channel?.topic;
  if (!topic) return null;
  return (
    <>
      <button type="button" class="topic soft" onClick={() => (open.value = true)}>
        <bdi>{topic}</bdi>
      </button>
      {open.value && (
        <Dialog title={context.name} onClose={() => (open.value = false)}>
          <Markup content={topic} serverId={context.serverId} />
        </Dialog>
      )}
    </>
  );
}

/** The link from a thread back to its channel. */
function BackLink({ parentId }: { parentId: string }): JSX.Element {
  const name = channels.value.get(parentId)?.name ?? '';
  return (
    <a class="icon-button" href={pathOf(parentId)} aria-label={`Back to ${name}`} title={`Back to ${name}`}>
      <Icon of={ArrowLeft} />
    </a>
  );
}

/** The header of a channel, thread or DM: its name and topic, and the buttons for the panels beside the messages. */
export function ChannelHeader({ context, side }: { context: ChannelContext; side: Signal<Side> }): JSX.Element {
  const { channel, serverId, recipientId } = context;
  const following = useSignal(false);
  usePresences(recipientId === undefined ? [] : [recipientId]);
  const toggle = (one: Side) => (): void => {
    side.value = side.value === one ? null : one;
  };
  const isThread = channel?.kind === 'thread';
  return (
    <PageHeader>
      {isThread && channel.parentId && <BackLink parentId={channel.parentId} />}
      <h1>
        <bdi>{context.name}</bdi>
      </h1>
      {recipientId !== undefined && !isSystemDm(context) && (
        <Button variant="quiet" onClick={() => openProfile(recipientId, null)}>
          {statusNames[presenceOf(recipientId)?.status ?? 'offline']}
        </Button>
      )}
      {channel && <ChannelMarks channel={channel} />}
      <Topic context={context} />
      <span class="page-tools">
        {isThread && channel.threadStarterId && channel.parentId && (
          <a class="button quiet" href={pathOf(channel.parentId, channel.threadStarterId)}>
            Jump to first message
          </a>
        )}
        {isThread && may('Manage Channels', serverId, channel) && (
          <IconButton
            of={Archive}
            label={channel.archived ? 'Restore thread' : 'Archive thread'}
            onClick={() => void setArchived(channel, !channel.archived)}
          />
        )}
        {channel && channelKinds[channel.kind].canBeFollowed && (
          <IconButton of={Rss} label="Follow channel" onClick={() => (following.value = true)} />
        )}
        {channel && !isThread && (
          <IconButton of={MessagesSquare} label="Threads" aria-pressed={side.value === 'threads'} onClick={toggle('threads')} />
        )}
        <IconButton of={Pin} label="Pinned messages" aria-pressed={side.value === 'pins'} onClick={toggle('pins')} />
        {serverId && <IconButton of={Users} label="Members" aria-pressed={side.value === 'members'} onClick={toggle('members')} />}
      </span>
      {following.value && <FollowDialog context={context} onClose={() => (following.value = false)} />}
    </PageHeader>
  );
}
