import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { channelKinds } from '../../../../../lib/base/channel-kinds.ts';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { may } from '../../../state/rights.ts';
import { dropChannel } from '../../../state/servers.ts';
import { ConfirmButton } from '../../../ui/dialog.tsx';
import { ChannelForm } from './channel-form.tsx';
import { kindNames } from './kinds.ts';
import { Overwrites } from './overwrites.tsx';

const deletionText = (kind: Channel['kind']): string =>
  kind === 'category'
    ? 'Its channels are kept, without a category.'
    : 'Its messages, threads, files and webhooks are deleted too. This cannot be undone.';

/** The editor of one channel: its fields, its overwrites, and its deletion. */
export function ChannelEditor({ channel, server }: { channel: Channel; server: Server }): JSX.Element {
  const { route } = useLocation();
  const remove = async (): Promise<void> => {
    await call('DELETE', path`/api/channels/${channel.id}`);
    route(`/servers/${server.id}/settings/channels`, true);
    dropChannel(server.id, channel.id);
  };
  const canManage = may('Manage Channels', server.id, channel);
  return (
    <>
      <h3>
        {channel.name} <span class="soft">({kindNames[channel.kind]})</span>
      </h3>
      {canManage && <ChannelForm channel={channel} serverId={server.id} />}
      {channelKinds[channel.kind].hasOverwrites && may('Manage Roles', server.id, channel) && (
        <Overwrites channel={channel} server={server} />
      )}
      {canManage && (
        <section class="settings-block">
          <h3>Delete {channel.kind === 'category' || channel.kind === 'thread' ? channel.kind : 'channel'}</h3>
          <p class="soft">{deletionText(channel.kind)}</p>
          <ConfirmButton
            variant="danger"
            question={`Delete ${channel.name}?`}
            text={deletionText(channel.kind)}
            action="Delete permanently"
            run={remove}
          >
            Delete {channel.name}
          </ConfirmButton>
        </section>
      )}
    </>
  );
}
