import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { details } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, useTask } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { say } from '../../ui/toast.tsx';
import type { Place } from '../place.ts';

/** Returns the text channels of all servers in which the user may manage webhooks. Published messages can be copied to them. */
const targets = (): { value: string; label: string }[] =>
  [...details.value.values()].flatMap((server) =>
    server.channels
      .filter((channel) => channel.kind === 'text' && may('Manage Webhooks', server.id, channel))
      .map((channel) => ({ value: channel.id, label: `${server.name} · ${channel.name}` })),
  );

/** The dialog to follow an announcement channel: its published messages are also posted to a channel that the user chooses. */
export function FollowDialog({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  const options = targets();
  const target = useSignal(options[0]?.value ?? '');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      await call('POST', path`/api/channels/${place.channelId}/followers`, { channelId: target.value });
      say(`${options.find(({ value }) => value === target.value)?.label} follows ${place.name}.`);
      onClose();
    });
  };
  return (
    <Dialog title={`Follow ${place.name}`} onClose={onClose}>
      {options.length === 0 ? (
        <p>You need Manage Webhooks in a text channel of any server. Published messages are copied to that channel.</p>
      ) : (
        <form class="form" onSubmit={submit}>
          <SelectField
            label="Copy published messages to"
            value={target.value}
            onValue={(value) => (target.value = value)}
            options={options}
            error={task.error?.at('/channelId')}
          />
          <Problem error={task.error} shown={['/channelId']} />
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="main" busy={task.busy}>
              Follow
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
