import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { limits } from '../../../../lib/base/limits.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { call, path } from '../../api/call.ts';
import { channels, putChannel } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { useCreateKey } from '../../ui/create-key.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { SelectField, TextField, useTask } from '../../ui/form.tsx';
import { spanOf } from '../../ui/times.ts';
import { pathOf } from '../channel-context.ts';

/** The dialog that starts a thread in a channel, with or without a message, and opens it. `suggested` is the initial name. */
export function ThreadDialog({
  channelId,
  messageId,
  suggested = '',
  onClose,
}: {
  channelId: string;
  messageId?: string;
  suggested?: string;
  onClose: () => void;
}): JSX.Element {
  const name = useSignal(suggested);
  const minutes = useSignal(String(channels.value.get(channelId)?.autoArchiveMinutes ?? limits.threadAutoArchiveMinutesDefault));
  const task = useTask();
  const { route } = useLocation();
  const key = useCreateKey();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const input = { name: name.value, messageId, autoArchiveMinutes: Number(minutes.value) };
      const thread = await call<Channel>('POST', path`/api/channels/${channelId}/threads`, input, { key: key.of(input) });
      putChannel(thread);
      onClose();
      route(pathOf(thread.id));
    });
  };
  return (
    <Dialog title="Start a thread" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Thread name"
          required
          autofocus
          maxLength={limits.nameChars}
          value={name.value}
          onValue={(value) => (name.value = value)}
          error={task.error?.at('/name')}
        />
        <SelectField
          label="Archive after"
          hint="Time without new messages. A new message restores the thread."
          value={minutes.value}
          onValue={(value) => (minutes.value = value)}
          options={limits.threadAutoArchiveMinutes.map((count) => ({ value: String(count), label: spanOf(count * 60) }))}
        />
        <ErrorNotice error={task.error} shown={['/name']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="main" busy={task.busy}>
            Start thread
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
