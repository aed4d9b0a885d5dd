import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { call, path } from '../../api/call.ts';
import { putChannel, servers } from '../../state/servers.ts';
import { openChannel } from '../../state/start.ts';
import { useTask } from '../../ui/form.tsx';
import { say } from '../../ui/toast.tsx';
import { NotFound, PageHeader } from '../page.tsx';
import { MembersPanel } from '../panels/members-panel.tsx';
import { PinsPanel } from '../panels/pins-panel.tsx';
import { ThreadsPanel } from '../panels/threads-panel.tsx';
import { holdsMessages, type Place, placeOf } from '../place.ts';
import { noteVisit } from '../visited.ts';
import { ChannelHeader, type Side } from './channel-header.tsx';
import { Composer } from './composer.tsx';
import { MessageList } from './message-list.tsx';

const wide = (): boolean => window.matchMedia('(min-width: 1100px)').matches;

/** The page of a channel that is not in a list. An archived thread is loaded by its id; for other channels the API's error is shown. */
function Unlisted({ channelId }: { channelId: string }): JSX.Element {
  const task = useTask();
  const read = (): void => void task.run(async () => putChannel(await call<Channel>('GET', path`/api/channels/${channelId}`)));
  useEffect(read, [channelId]);
  return task.error ? <NotFound error={task.error} again={read} /> : <p class="spinner">Loading …</p>;
}

/** Leaves the page of a channel that is deleted or hidden while it is open, or whose server the user was removed from. */
function useLeaving(place: Place | undefined, serverId: string | undefined): boolean {
  const last = useRef<Place | undefined>(undefined);
  const { route } = useLocation();
  const gone = place === undefined && last.current !== undefined;
  useEffect(() => {
    if (place) {
      last.current = place;
      return;
    }
    if (!last.current) return;
    const stays = serverId !== undefined && servers.value.has(serverId);
    say(stays ? `${last.current.name} no longer exists or you don’t have access.` : 'You are no longer in that server.');
    last.current = undefined;
    route(stays ? `/servers/${serverId}` : '/', true);
  }, [place === undefined]);
  return gone;
}

function Talk({ place, jumpTo }: { place: Place; jumpTo: string | undefined }): JSX.Element {
  const side = useSignal<Side>(wide() && place.serverId !== null ? 'members' : null);
  const close = (): void => {
    side.value = null;
  };
  return (
    <main id="main" class="channel-page">
      <ChannelHeader place={place} side={side} />
      <div class="channel-body">
        <section class="channel-talk" aria-label="Messages">
          <MessageList place={place} jumpTo={jumpTo} />
          <Composer place={place} />
        </section>
        {side.value === 'members' && place.serverId && <MembersPanel place={place} onClose={close} />}
        {side.value === 'pins' && <PinsPanel place={place} onClose={close} />}
        {side.value === 'threads' && <ThreadsPanel place={place} onClose={close} />}
      </div>
    </main>
  );
}

/** The page of a voice channel, which has no content. */
function VoiceChannel({ name }: { name: string }): JSX.Element {
  return (
    <main id="main">
      <PageHeader>
        <h1>{name}</h1>
      </PageHeader>
      <div class="home">
        <p>This is a voice channel. Parlance has no calls yet, so there is nothing to join here, and voice channels hold no messages.</p>
      </div>
    </main>
  );
}

/** A channel, thread or DM: its messages, the composer, and a panel beside them. */
export function ChannelPage(): JSX.Element {
  const { channelId = '', serverId } = useRoute().params;
  const channel = placeOf(channelId)?.channel;
  if (channel && !holdsMessages(channel)) return <VoiceChannel name={channel.name ?? ''} />;
  // The key makes each channel a new component, so that no state of the previous channel remains.
  return <ChannelOf key={channelId} channelId={channelId} serverId={serverId} />;
}

function ChannelOf({ channelId, serverId }: { channelId: string; serverId: string | undefined }): JSX.Element {
  const { query } = useLocation();
  const place = placeOf(channelId);
  const leaving = useLeaving(place, serverId);
  useEffect(() => {
    openChannel.value = channelId;
    return () => {
      openChannel.value = undefined;
    };
  }, []);
  useEffect(() => {
    if (serverId && place) noteVisit(serverId, channelId);
  }, [place === undefined]);
  if (place) return <Talk place={place} jumpTo={query.message} />;
  return leaving ? <p class="spinner">Leaving …</p> : <Unlisted channelId={channelId} />;
}
