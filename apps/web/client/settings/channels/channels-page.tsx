import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { may } from '../../../state/rights.ts';
import { channels } from '../../../state/servers.ts';
import { Dialog, DialogButton } from '../../../ui/dialog.tsx';
import { holdsMessages, orderedChannels, pathOf } from '../../channel-context.ts';
import { ChannelEditor } from './channel-editor.tsx';
import { kindNames } from './kinds.ts';
import { NewChannelForm } from './new-channel-form.tsx';

/** Whether the user may change anything in a channel. */
const canChange = (serverId: string, channel: Channel): boolean =>
  may('Manage Channels', serverId, channel) || may('Manage Roles', serverId, channel);

function Row({ channel, serverId }: { channel: Channel; serverId: string }): JSX.Element {
  const name = channel.name ?? '';
  return (
    <li class="settings-row">
      <span class="settings-row-text">
        <strong>{name}</strong> <span class="soft">{kindNames[channel.kind]}</span>
      </span>
      {canChange(serverId, channel) && (
        <a class="button" href={`/servers/${serverId}/settings/channels?channel=${channel.id}`} aria-label={`Edit ${name}`}>
          Edit
        </a>
      )}
    </li>
  );
}

/** The channels of a server by category, to create and edit them. `?channel=` opens one. */
export function ChannelsPage({ server }: { server: Server }): JSX.Element {
  const { query, route } = useLocation();
  const { top, categories } = orderedChannels(server.id);
  const list = `/servers/${server.id}/settings/channels`;
  if (query.channel !== undefined) {
    const channel = channels.value.get(query.channel);
    return (
      <>
        <p>
          <a href={list}>All channels</a>
        </p>
        {channel?.serverId === server.id ? (
          <ChannelEditor key={channel.id} channel={channel} server={server} />
        ) : (
          <p role="status">This channel doesn’t exist or you don’t have access.</p>
        )}
      </>
    );
  }
  return (
    <>
      {may('Manage Channels', server.id) && (
        <div>
          <DialogButton
            variant="main"
            dialog={(close) => (
              <Dialog title="Create channel" onClose={close}>
                <NewChannelForm
                  server={server}
                  onCreated={(channel) => {
                    close();
                    route(holdsMessages(channel) ? pathOf(channel.id) : `${list}?channel=${channel.id}`);
                  }}
                />
              </Dialog>
            )}
          >
            Create channel
          </DialogButton>
        </div>
      )}
      <ul class="settings-list">
        {top.map((channel) => (
          <Row key={channel.id} channel={channel} serverId={server.id} />
        ))}
        {categories.flatMap(({ category, channels: inside }) => [
          <Row key={category.id} channel={category} serverId={server.id} />,
          inside.length > 0 && (
            <li key={`${category.id}-in`}>
              <ul class="settings-list inner" aria-label={`Channels in ${category.name}`}>
                {inside.map((channel) => (
                  <Row key={channel.id} channel={channel} serverId={server.id} />
                ))}
              </ul>
            </li>
          ),
        ])}
      </ul>
    </>
  );
}
