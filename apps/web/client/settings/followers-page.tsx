import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { Follower } from '../../../../lib/contract/follower.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { channels, servers } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { momentOf } from '../../ui/times.ts';
import { useRead } from '../../ui/use-read.ts';

/** Returns the name of a channel and its server, as far as the user can see them. */
function targetName({ channelId, serverId }: Follower): string {
  const channel = channels.value.get(channelId);
  const server = servers.value.get(serverId);
  if (channel) return `#${channel.name} in ${server?.name}`;
  return server ? `A channel of ${server.name} that you cannot see` : 'A channel of another server';
}

/** Whether the user may end the following: it needs Manage Webhooks in the following channel. */
const mayEnd = ({ channelId, serverId }: Follower): boolean => {
  const channel = channels.value.get(channelId);
  return channel !== undefined && may('Manage Webhooks', serverId, channel);
};

function ChannelFollowers({ channel }: { channel: Channel }): JSX.Element {
  const followers = useRead<Follower[]>(
    (signal) => call('GET', path`/api/channels/${channel.id}/followers`, undefined, { signal }),
    [channel.id],
  );
  const ending = useSignal<Follower | null>(null);
  const end = async (): Promise<void> => {
    const targetId = ending.value?.channelId ?? '';
    await call('DELETE', path`/api/channels/${channel.id}/followers/${targetId}`);
    followers.set((followers.value ?? []).filter(({ channelId }) => channelId !== targetId));
  };
  return (
    <section class="settings-block">
      <h3>{channel.name}</h3>
      <Problem error={followers.error} again={followers.again} />
      {!followers.value && !followers.error && <p class="spinner">Loading …</p>}
      {followers.value?.length === 0 && <p>No channel follows this channel.</p>}
      <ul class="settings-list">
        {followers.value?.map((follower) => (
          <li key={follower.channelId} class="settings-row">
            <span class="settings-row-text">
              {targetName(follower)}
              <span class="hint settings-sub">since {momentOf(follower.createdAt)}</span>
            </span>
            {mayEnd(follower) && (
              <Button aria-label={`Stop following: ${targetName(follower)}`} onClick={() => (ending.value = follower)}>
                Stop following
              </Button>
            )}
          </li>
        ))}
      </ul>
      {ending.value && (
        <Confirm title="Stop following?" action="Stop following" run={end} onClose={() => (ending.value = null)}>
          <p>
            {targetName(ending.value)} will get no more messages from {channel.name}. Earlier messages are kept.
          </p>
        </Confirm>
      )}
    </section>
  );
}

/** The channels that follow the announcement channels of a server. */
export function FollowersPage({ server }: { server: Server }): JSX.Element {
  return (
    <>
      <p class="soft">
        Text channels of any server can follow an announcement channel. Every published message is copied to them. Following and unfollowing
        need Manage Webhooks in the following channel.
      </p>
      {server.channels
        .filter(({ kind }) => kind === 'announcement')
        .map((channel) => (
          <ChannelFollowers key={channel.id} channel={channel} />
        ))}
    </>
  );
}
