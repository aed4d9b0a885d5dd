import type { JSX } from 'preact';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { SelectField, useForm } from '../../ui/form.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { ChannelContext } from '../channel-context.ts';

/** Returns the text channels of all servers in which the user may manage webhooks. Published messages can be copied to them. */
const targetChannels = (): { value: string; label: string }[] =>
  [...servers.value.values()].flatMap((server) =>
    server.channels
      .filter((channel) => channelKinds[channel.kind].canFollow && may('Manage Webhooks', server.id, channel))
      .map((channel) => ({ value: channel.id, label: `${server.name} · ${channel.name}` })),
  );

/** The dialog to follow an announcement channel: its published messages are also posted to a channel that the user chooses. */
export function FollowDialog({ context, onClose }: { context: ChannelContext; onClose: () => void }): JSX.Element {
  const options = targetChannels();
  const form = useForm({ channelId: options[0]?.value ?? '' });
  const title = `Follow ${context.name}`;
  if (options.length === 0)
    return (
      <Dialog title={title} onClose={onClose}>
        <p>Published messages are copied to a text channel of your choice. You need the Manage Webhooks permission in that channel.</p>
      </Dialog>
    );
  const follow = async (): Promise<void> => {
    await call('POST', path`/api/channels/${context.channelId}/followers`, form.now);
    showToast(`${options.find(({ value }) => value === form.now.channelId)?.label} now follows ${context.name}.`);
    onClose();
  };
  return (
    <FormDialog title={title} onClose={onClose} form={form} run={follow} action="Follow">
      <SelectField label="Copy published messages to" options={options} {...form.field('channelId')} />
    </FormDialog>
  );
}
