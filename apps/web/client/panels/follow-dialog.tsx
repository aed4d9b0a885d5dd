import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { SelectField, useTask } from '../../ui/form.tsx';
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
  const target = useSignal(options[0]?.value ?? '');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      await call('POST', path`/api/channels/${context.channelId}/followers`, { channelId: target.value });
      showToast(`${options.find(({ value }) => value === target.value)?.label} now follows ${context.name}.`);
      onClose();
    });
  };
  return (
    <Dialog title={`Follow ${context.name}`} onClose={onClose}>
      {options.length === 0 ? (
        <p>Published messages are copied to a text channel of your choice. You need the Manage Webhooks permission in that channel.</p>
      ) : (
        <form class="form" onSubmit={submit}>
          <SelectField
            label="Copy published messages to"
            value={target.value}
            onValue={(value) => (target.value = value)}
            options={options}
            error={task.error?.at('/channelId')}
          />
          <ErrorNotice error={task.error} shown={['/channelId']} />
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="main" busy={task.busy}>
              Follow
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
