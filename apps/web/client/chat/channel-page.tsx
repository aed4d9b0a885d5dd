import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { call, path } from '../../api/call.ts';
import { putChannel, servers } from '../../state/servers.ts';
import { openChannel } from '../../state/start.ts';
import { Spinner } from '../../ui/loading.tsx';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { type ChannelContext, channelContextOf, holdsMessages } from '../channel-context.ts';
import { NotFound, PageHeader } from '../page.tsx';
import { MembersPanel } from '../panels/members-panel.tsx';
import { PinsPanel } from '../panels/pins-panel.tsx';
import { ThreadsPanel } from '../panels/threads-panel.tsx';
import { noteVisit } from '../visited.ts';
import { ChannelHeader, type Side } from './channel-header.tsx';
import { Composer } from './composer.tsx';
import { MessageList } from './message-list.tsx';

/** Matches when a panel fits beside the messages. On a narrower page, and on a zoomed one, it covers them. */
const wide = window.matchMedia('(min-width: 1100px)');

/** The page of a channel that is not in a list. An archived thread is loaded by its id; for other channels the API's error is shown. */
function UnlistedChannel({ channelId }: { channelId: string }): JSX.Element {
  const { error, reload } = useLoaded(async () => putChannel(await call<Channel>('GET', path`/api/channels/${channelId}`)), [channelId]);
  return error ? <NotFound error={error} retry={reload} /> : <Spinner />;
}

/** Leaves the page of a channel that is deleted or hidden while it is open, or whose server the user was removed from. */
function useLeaveRemovedChannel(context: ChannelContext | undefined, serverId: string | undefined): boolean {
  const last = useRef<ChannelContext | undefined>(undefined);
  const { route } = useLocation();
  const isRemoved = context === undefined && last.current !== undefined;
  useEffect(() => {
    if (context) {
      last.current = context;
      return;
    }
    if (!last.current) return;
    const isMember = serverId !== undefined && servers.value.has(serverId);
    showToast(isMember ? `${last.current.name} no longer exists or you don’t have access.` : 'You are no longer a member of this server.');
    last.current = undefined;
    route(isMember ? `/servers/${serverId}` : '/', true);
  }, [context === undefined]);
  return isRemoved;
}

function ChannelView({ context, jumpTo }: { context: ChannelContext; jumpTo: string | undefined }): JSX.Element {
  const side = useSignal<Side>(wide.matches && context.serverId !== null ? 'members' : null);
  const close = (): void => {
    side.value = null;
  };
  useEffect(() => {
    // A panel that was beside the messages must not cover them when the page becomes narrow.
    wide.addEventListener('change', close);
    return () => wide.removeEventListener('change', close);
  }, []);
  return (
    <main id="main" class="channel-page">
      <ChannelHeader context={context} side={side} />
      <div class="channel-body">
        <section class="channel-main" aria-label="Messages">
          <MessageList context={context} jumpTo={jumpTo} />
          <Composer context={context} />
        </section>
        {side.value === 'members' && context.serverId && <MembersPanel context={context} onClose={close} />}
        {side.value === 'pins' && <PinsPanel context={context} onClose={close} />}
        {side.value === 'threads' && <ThreadsPanel context={context} onClose={close} />}
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
        <p>This is a voice channel. Parlance doesn’t support voice calls yet.</p>
      </div>
    </main>
  );
}

/** A channel, thread or DM: its messages, the composer, and a panel beside them. */
export function ChannelPage(): JSX.Element {
  const { channelId = '', serverId } = useRoute().params;
  const channel = channelContextOf(channelId)?.channel;
  if (channel && !holdsMessages(channel)) return <VoiceChannel name={channel.name ?? ''} />;
  // The key makes each channel a new component, so that no state of the previous channel remains.
  return <ChannelContent key={channelId} channelId={channelId} serverId={serverId} />;
}

function ChannelContent({ channelId, serverId }: { channelId: string; serverId: string | undefined }): JSX.Element {
  const { query } = useLocation();
  const context = channelContextOf(channelId);
  const isLeaving = useLeaveRemovedChannel(context, serverId);
  useEffect(() => {
    openChannel.value = channelId;
    return () => {
      openChannel.value = undefined;
    };
  }, []);
  useEffect(() => {
    if (serverId && context) noteVisit(serverId, channelId);
  }, [context === undefined]);
  if (context) return <ChannelView context={context} jumpTo={query.message} />;
  return isLeaving ? <p class="spinner">Leaving…</p> : <UnlistedChannel channelId={channelId} />;
}
