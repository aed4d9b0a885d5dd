import type { JSX } from 'preact';
import { permissionBits } from '../../../../../lib/base/permissions.ts';
import type { Channel, ChannelInput } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { path } from '../../../api/call.ts';
import { may } from '../../../state/rights.ts';
import { putChannel } from '../../../state/servers.ts';
import { CheckField, Form, SelectField, TextField, useForm } from '../../../ui/form.tsx';
import { useCreate } from '../../../ui/use-create.ts';
import { categoryChoices, noCategory } from './kinds.ts';

/** Voice channels are not offered, because there are no voice calls to use them for. */
const kinds: readonly { value: ChannelInput['kind']; label: string }[] = [
  { value: 'text', label: 'Text: messages, files, threads' },
  { value: 'announcement', label: 'Announcement: other channels can follow it' },
  { value: 'category', label: 'Category: groups channels' },
];

interface NewChannel {
  name: string;
  kind: ChannelInput['kind'];
  parentId: string;
  isPrivate: boolean;
}

/** A form that creates a channel or category. */
export function NewChannelForm({ server, onCreated }: { server: Server; onCreated: (channel: Channel) => void }): JSX.Element {
  const form = useForm<NewChannel>({ name: '', kind: 'text', parentId: noCategory, isPrivate: false });
  const { name, kind, parentId, isPrivate } = form.now;
  const create = useCreate();
  const hiddenFromEveryone = [{ id: server.id, allow: 0, deny: permissionBits['View Channel'] }];
  const run = async (): Promise<void> => {
    const input: ChannelInput = {
      name,
      kind,
      parentId: kind === 'category' || parentId === noCategory ? null : parentId,
      ...(isPrivate ? { overwrites: hiddenFromEveryone } : {}),
    };
    const channel = await create<Channel>(path`/api/servers/${server.id}/channels`, input);
    putChannel(channel);
    onCreated(channel);
  };
  return (
    <Form form={form} run={run} action="Create">
      <TextField label="Name" required {...form.field('name')} />
      <SelectField label="Type" options={kinds} {...form.bind('kind')} />
      {kind !== 'category' && <SelectField label="Category" options={categoryChoices(server.id)} {...form.field('parentId')} />}
      {may('Administrator', server.id) && (
        <CheckField
          label="Private channel"
          hint="Only administrators can see it until you allow roles or members in its settings."
          {...form.check('isPrivate')}
        />
      )}
    </Form>
  );
}
