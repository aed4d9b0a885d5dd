import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Server } from '../../../lib/contract/server.ts';
import { instance, loadInstance } from '../state/instance.ts';
import { Form, TextField, useForm } from './form.tsx';
import { useCreate } from './use-create.ts';

/** A form that creates a server. `name` is the initial name; `onCreated` gets the new server. */
export function NewServerForm({ name = '', onCreated }: { name?: string; onCreated: (server: Server) => void }): JSX.Element {
  const form = useForm({ name });
  const create = useCreate();
  useEffect(() => {
    loadInstance().catch(() => undefined); // the form works without it
  }, []);
  if (instance.value?.serverCreation === 'operators') return <p>Only operators of this installation can create servers.</p>;
  return (
    <Form form={form} run={async () => onCreated(await create<Server>('/api/servers', form.now))} action="Create server" stacked>
      <TextField label="Server name" required {...form.field('name')} />
    </Form>
  );
}
