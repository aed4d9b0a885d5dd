import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { permissionBits } from '../../../../../lib/base/permissions.ts';
import type { Channel, ChannelInput } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { may } from '../../../state/rights.ts';
import { putChannel } from '../../../state/servers.ts';
import { Button } from '../../../ui/button.tsx';
import { useCreateKey } from '../../../ui/create-key.ts';
import { ErrorNotice } from '../../../ui/error-notice.tsx';
import { CheckField, SelectField, TextField, useTask } from '../../../ui/form.tsx';
import { categoryChoices, noCategory } from './kinds.ts';

/** Voice channels are not offered, because there are no voice calls to use them for. */
const kinds: readonly { value: ChannelInput['kind']; label: string }[] = [
  { value: 'text', label: 'Text: messages, files, threads' },
  { value: 'announcement', label: 'Announcement: other channels can follow it' },
  { value: 'category', label: 'Category: groups channels' },
];

/** A form that creates a channel or category. */
export function NewChannelForm({ server, onCreated }: { server: Server; onCreated: (channel: Channel) => void }): JSX.Element {
  const name = useSignal('');
  const kind = useSignal<ChannelInput['kind']>('text');
  const parentId = useSignal(noCategory);
  const isPrivate = useSignal(false);
  const task = useTask();
  const key = useCreateKey();
  const hiddenFromEveryone = [{ id: server.id, allow: 0, deny: permissionBits['View Channel'] }];
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const parent = kind.value === 'category' || parentId.value === noCategory ? null : parentId.value;
      const input: ChannelInput = {
        name: name.value,
        kind: kind.value,
        parentId: parent,
        ...(isPrivate.value ? { overwrites: hiddenFromEveryone } : {}),
      };
      const channel = await call<Channel>('POST', path`/api/servers/${server.id}/channels`, input, { key: key.of(input) });
      key.done();
      putChannel(channel);
      onCreated(channel);
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="Name" required value={name.value} onValue={(value) => (name.value = value)} error={task.error?.at('/name')} />
      <SelectField label="Type" options={kinds} value={kind.value} onValue={(value) => (kind.value = value)} />
      {kind.value !== 'category' && (
        <SelectField
          label="Category"
          options={categoryChoices(server.id)}
          value={parentId.value}
          onValue={(value) => (parentId.value = value)}
          error={task.error?.at('/parentId')}
        />
      )}
      {may('Administrator', server.id) && (
        <CheckField
          label="Private channel"
          hint="Only administrators can see it until you allow roles or members in its settings."
          checked={isPrivate.value}
          onChecked={(checked) => (isPrivate.value = checked)}
        />
      )}
      <ErrorNotice error={task.error} shown={['/name', '/parentId']} />
      <div class="actions">
        <Button type="submit" variant="main" busy={task.busy}>
          Create
        </Button>
      </div>
    </form>
  );
}
