import { type Signal, useSignal } from '@preact/signals';
import { MessagesSquare, Pin, Users } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { openChannel } from '../../state/start.ts';
import { IconButton } from '../../ui/button.tsx';
import { NotFound, PageHeader } from '../page.tsx';
import { MembersPanel } from '../panels/members-panel.tsx';
import { PinsPanel } from '../panels/pins-panel.tsx';
import { ThreadsPanel } from '../panels/threads-panel.tsx';
import { type Place, placeOf } from '../place.ts';
import { Composer } from './composer.tsx';
import { MessageList } from './message-list.tsx';

/** What stands beside the messages. */
type Panel = 'members' | 'pins' | 'threads' | null;

const wide = (): boolean => window.matchMedia('(min-width: 1100px)').matches;

function Header({ place, panel }: { place: Place; panel: Signal<Panel> }): JSX.Element {
  const toggle = (one: Panel) => (): void => {
    panel.value = panel.value === one ? null : one;
  };
  return (
    <PageHeader>
      <h1>{place.name}</h1>
      {place.channel?.topic ? (
        <p class="topic soft" title={place.channel.topic}>
          {place.channel.topic}
        </p>
      ) : null}
      <span class="page-tools">
        {place.channel && place.channel.kind !== 'thread' && (
          <IconButton of={MessagesSquare} label="Threads" aria-pressed={panel.value === 'threads'} onClick={toggle('threads')} />
        )}
        <IconButton of={Pin} label="Pinned messages" aria-pressed={panel.value === 'pins'} onClick={toggle('pins')} />
        {place.serverId && <IconButton of={Users} label="Members" aria-pressed={panel.value === 'members'} onClick={toggle('members')} />}
      </span>
    </PageHeader>
  );
}

/** A channel, thread or DM: its messages, the composer, and a panel beside them. */
export function ChannelPage(): JSX.Element {
  const { channelId = '' } = useRoute().params;
  const { query } = useLocation();
  const panel = useSignal<Panel>(wide() ? 'members' : null);
  const place = placeOf(channelId);
  useEffect(() => {
    openChannel.value = channelId;
    return () => {
      openChannel.value = undefined;
    };
  }, [channelId]);
  useEffect(() => {
    document.title = `${place?.name ?? 'Not here'} · Parlance`;
  }, [place?.name]);
  if (!place) return <NotFound />;
  const close = (): void => {
    panel.value = null;
  };
  return (
    <main id="main" class="channel-page" key={channelId}>
      <Header place={place} panel={panel} />
      <div class="channel-body">
        <section class="channel-talk" aria-label="Messages">
          <MessageList place={place} jumpTo={query.message} />
          <Composer place={place} />
        </section>
        {panel.value === 'members' && place.serverId && <MembersPanel place={place} onClose={close} />}
        {panel.value === 'pins' && <PinsPanel place={place} onClose={close} />}
        {panel.value === 'threads' && <ThreadsPanel place={place} onClose={close} />}
      </div>
    </main>
  );
}
