import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { may } from '../../../state/rights.ts';
import { dropChannel } from '../../../state/servers.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { ChannelForm } from './channel-form.tsx';
import { kindNames } from './kinds.ts';
import { Overwrites } from './overwrites.tsx';

const whatGoes = (kind: Channel['kind']): string =>
  kind === 'category'
    ? 'Its channels are kept, without a category.'
    : 'Its messages, threads, files and webhooks are deleted too. This cannot be undone.';

/** The editor of one channel: its fields, its overwrites, and its deletion. */
export function ChannelEditor({ channel, server }: { channel: Channel; server: Server }): JSX.Element {
  const asking = useSignal(false);
  const { route } = useLocation();
  const remove = async (): Promise<void> => {
    await call('DELETE', path`/api/channels/${channel.id}`);
    route(`/servers/${server.id}/settings/channels`, true);
    dropChannel(server.id, channel.id);
  };
  const manages = may('Manage Channels', server.id, channel);
  return (
    <>
      <h3>
        {channel.name} <span class="soft">({kindNames[channel.kind]})</span>
      </h3>
      {manages && <ChannelForm channel={channel} serverId={server.id} />}
      {channel.kind !== 'thread' && may('Manage Roles', server.id, channel) && <Overwrites channel={channel} server={server} />}
      {manages && (
        <section class="settings-block">
          <h3>Delete it</h3>
          <p class="soft">{whatGoes(channel.kind)}</p>
          <Button look="danger" onClick={() => (asking.value = true)}>
            Delete {channel.name}
          </Button>
        </section>
      )}
      {asking.value && (
        <Confirm title={`Delete ${channel.name}?`} action="Delete permanently" run={remove} onClose={() => (asking.value = false)}>
          <p>{whatGoes(channel.kind)}</p>
        </Confirm>
      )}
    </>
  );
}
