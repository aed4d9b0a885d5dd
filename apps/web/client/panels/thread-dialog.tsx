import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { limits } from '../../../../lib/base/limits.ts';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { path } from '../../api/call.ts';
import { channels, putChannel } from '../../state/servers.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { SelectField, TextField, useForm } from '../../ui/form.tsx';
import { spanOf } from '../../ui/times.ts';
import { useCreate } from '../../ui/use-create.ts';
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
  const autoArchiveMinutes = String(channels.value.get(channelId)?.autoArchiveMinutes ?? limits.threadAutoArchiveMinutesDefault);
  const form = useForm({ name: suggested, autoArchiveMinutes });
  const { route } = useLocation();
  const create = useCreate();
  const start = async (): Promise<void> => {
    const input = { name: form.now.name, messageId, autoArchiveMinutes: Number(form.now.autoArchiveMinutes) };
    const thread = await create<Channel>(path`/api/channels/${channelId}/threads`, input);
    putChannel(thread);
    onClose();
    route(pathOf(thread.id));
  };
  return (
    <FormDialog title="Start a thread" onClose={onClose} form={form} run={start} action="Start thread">
      <TextField label="Thread name" required autofocus maxLength={limits.nameChars} {...form.field('name')} />
      <SelectField
        label="Archive after"
        hint="Time without new messages. A new message restores the thread."
        options={limits.threadAutoArchiveMinutes.map((count) => ({ value: String(count), label: spanOf(count * 60) }))}
        {...form.bind('autoArchiveMinutes')}
      />
    </FormDialog>
  );
}
