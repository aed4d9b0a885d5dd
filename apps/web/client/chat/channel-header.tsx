import { type Signal, useSignal } from '@preact/signals';
import { Archive, ArrowLeft, MessagesSquare, Pin, Rss, Timer, Users } from 'lucide';
import type { JSX } from 'preact';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { presenceOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { channels } from '../../state/servers.ts';
import { statusNames } from '../../ui/avatar.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { spanOf } from '../../ui/times.ts';
import { PageHeader } from '../page.tsx';
import { FollowDialog } from '../panels/follow-dialog.tsx';
import { setArchived } from '../panels/threads-panel.tsx';
import { openProfile } from '../people/open-profile.ts';
import { usePresences } from '../people/use-presences.ts';
import { isNoticePlace, type Place, pathOf } from '../place.ts';
import { Markup } from './markup.tsx';

/** The panel beside the messages. */
export type Side = 'members' | 'pins' | 'threads' | null;

/** Short marks for the settings of a channel: slow mode, 18+, archived. */
function Marks({ channel }: { channel: Channel }): JSX.Element {
  const { slowmodeSecs, contentMode, archived } = channel;
  return (
    <>
      {slowmodeSecs ? (
        <span class="mark" title={`Slow mode: one message every ${spanOf(slowmodeSecs)}`}>
          <Icon of={Timer} size="1em" /> {spanOf(slowmodeSecs)}
        </span>
      ) : null}
      {contentMode === 'age_restricted' && <span class="mark">18+</span>}
      {contentMode === 'spoiler' && <span class="mark">Covered</span>}
      {archived && (
        <span class="mark">
          <Icon of={Archive} size="1em" /> archived
        </span>
      )}
    </>
  );
}

function Topic({ place }: { place: Place }): JSX.Element | null {
  const open = useSignal(false);
  const topic = place.channel?.topic;
  if (!topic) return null;
  return (
    <>
      <button type="button" class="topic soft" onClick={() => (open.value = true)}>
        <bdi>{topic}</bdi>
      </button>
      {open.value && (
        <Dialog title={place.name} onClose={() => (open.value = false)}>
          <Markup content={topic} serverId={place.serverId} />
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
export function ChannelHeader({ place, side }: { place: Place; side: Signal<Side> }): JSX.Element {
  const { channel, serverId, recipientId } = place;
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
        <bdi>{place.name}</bdi>
      </h1>
      {recipientId !== undefined && !isNoticePlace(place) && (
        <Button look="quiet" onClick={() => openProfile(recipientId, null)}>
          {statusNames[presenceOf(recipientId)?.status ?? 'offline']}
        </Button>
      )}
      {channel && <Marks channel={channel} />}
      <Topic place={place} />
      <span class="page-tools">
        {isThread && channel.threadStarterId && channel.parentId && (
          <a class="button quiet" href={pathOf(channel.parentId, channel.threadStarterId)}>
            First message
          </a>
        )}
        {isThread && may('Manage Channels', serverId, channel) && (
          <IconButton
            of={Archive}
            label={channel.archived ? 'Restore the thread' : 'Archive the thread'}
            onClick={() => void setArchived(channel, !channel.archived)}
          />
        )}
        {channel?.kind === 'announcement' && <IconButton of={Rss} label="Follow this channel" onClick={() => (following.value = true)} />}
        {channel && !isThread && (
          <IconButton of={MessagesSquare} label="Threads" aria-pressed={side.value === 'threads'} onClick={toggle('threads')} />
        )}
        <IconButton of={Pin} label="Pinned messages" aria-pressed={side.value === 'pins'} onClick={toggle('pins')} />
        {serverId && <IconButton of={Users} label="Members" aria-pressed={side.value === 'members'} onClick={toggle('members')} />}
      </span>
      {following.value && <FollowDialog place={place} onClose={() => (following.value = false)} />}
    </PageHeader>
  );
}
