import type { JSX } from 'preact';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { Follower } from '../../../../lib/contract/follower.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { channels, servers } from '../../state/servers.ts';
import { ConfirmButton } from '../../ui/dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { useGet } from '../../ui/use-loaded.ts';

/** Returns the name of a channel and its server, as far as the user can see them. */
function followerName({ channelId, serverId }: Follower): string {
  const channel = channels.value.get(channelId);
  const server = servers.value.get(serverId);
  if (channel) return `#${channel.name} in ${server?.name}`;
  return server ? `A channel in ${server.name} that you can’t see` : 'A channel in another server';
}

/** Whether the user may end the following: it needs Manage Webhooks in the following channel. */
const canUnfollow = ({ channelId, serverId }: Follower): boolean => {
  const channel = channels.value.get(channelId);
  return channel !== undefined && may('Manage Webhooks', serverId, channel);
};

function ChannelFollowers({ channel }: { channel: Channel }): JSX.Element {
  const followers = useGet<Follower[]>(path`/api/channels/${channel.id}/followers`);
  const unfollow = async (targetId: string): Promise<void> => {
    await call('DELETE', path`/api/channels/${channel.id}/followers/${targetId}`);
    followers.set((followers.value ?? []).filter(({ channelId }) => channelId !== targetId));
  };
  return (
    <section class="settings-block">
      <h3>{channel.name}</h3>
      <Loading of={followers} />
      {followers.value?.length === 0 && <p>No channels follow this channel yet.</p>}
      <ul class="settings-list">
        {followers.value?.map((follower) => (
          <li key={follower.channelId} class="settings-row">
            <span class="settings-row-text">
              {followerName(follower)}
              <span class="hint settings-sub">Since {shortMomentOf(follower.createdAt)}</span>
            </span>
            {canUnfollow(follower) && (
              <ConfirmButton
                aria-label={`Stop following: ${followerName(follower)}`}
                question={`Stop following ${channel.name}?`}
                text={`${followerName(follower)} will no longer get messages from ${channel.name}. Earlier messages are kept.`}
                action="Stop following"
                run={() => unfollow(follower.channelId)}
              >
                Stop following
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The channels that follow the announcement channels of a server. */
export function FollowersPage({ server }: { server: Server }): JSX.Element {
  return (
    <>
      <p class="soft">
        Text channels in any server can follow an announcement channel. Published messages are copied to them. To follow or unfollow, you
        need Manage Webhooks in the channel that follows.
      </p>
      {server.channels
        .filter(({ kind }) => channelKinds[kind].canBeFollowed)
        .map((channel) => (
          <ChannelFollowers key={channel.id} channel={channel} />
        ))}
    </>
  );
}
