import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { limits } from '../../../../lib/base/limits.ts';
import { cut } from '../../../../lib/base/text.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { channels, putChannel } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField, useTask } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { spanOf } from '../../ui/times.ts';
import { pathOf } from '../place.ts';
import { plainText } from './markup-text.ts';
import { deleteMessage } from './message-tools.ts';

const quoted = 120;

interface DialogProps {
  message: Message;
  serverId: string | null;
  onClose: () => void;
}

/** Asks before a message is deleted. */
export function DeleteDialog({ message, serverId, onClose }: DialogProps): JSX.Element {
  const text = cut(plainText(message.content, serverId), quoted);
  return (
    <Confirm title="Delete this message?" action="Delete" run={() => deleteMessage(message)} onClose={onClose}>
      <blockquote class="quoted">
        <strong>
          <bdi>{message.author.displayName}</bdi>
        </strong>{' '}
        <bdi>{text || 'files or embeds'}</bdi>
      </blockquote>
      <p class="hint">Its files are deleted too. This cannot be undone.</p>
    </Confirm>
  );
}

/** Starts a thread from a message, and opens it. */
export function ThreadDialog({ message, serverId, onClose }: DialogProps): JSX.Element {
  const channel = channels.value.get(message.channelId);
  const name = useSignal(cut(plainText(message.content, serverId), limits.nameChars / 2));
  const minutes = useSignal(String(channel?.autoArchiveMinutes ?? 1440));
  const task = useTask();
  const { route } = useLocation();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const input = { name: name.value, messageId: message.id, autoArchiveMinutes: Number(minutes.value) };
      const thread = await call<Channel>('POST', path`/api/channels/${message.channelId}/threads`, input);
      putChannel(thread);
      onClose();
      route(pathOf(thread.id));
    });
  };
  return (
    <Dialog title="Start a thread" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Name"
          required
          autofocus
          maxLength={limits.nameChars}
          value={name.value}
          onValue={(value) => (name.value = value)}
          error={task.error?.at('/name')}
        />
        <SelectField
          label="Hide it after"
          hint="without a new message; writing in it brings it back"
          value={minutes.value}
          onValue={(value) => (minutes.value = value)}
          options={limits.threadAutoArchiveMinutes.map((count) => ({ value: String(count), label: spanOf(count * 60) }))}
        />
        <Problem error={task.error} shown={['/name']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={task.busy}>
            Start the thread
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
