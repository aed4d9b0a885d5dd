import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Server } from '../../../lib/contract/server.ts';
import { call } from '../api/call.ts';
import { instance, loadInstance } from '../state/instance.ts';
import { Button } from './button.tsx';
import { useCreateKey } from './create-key.ts';
import { ErrorNotice } from './error-notice.tsx';
import { TextField, useTask } from './form.tsx';

/** A form that creates a server. `name` is the initial name; `onCreated` gets the new server. */
export function NewServerForm({ name: initialName = '', onCreated }: { name?: string; onCreated: (server: Server) => void }): JSX.Element {
  const name = useSignal(initialName);
  const task = useTask();
  const key = useCreateKey();
  useEffect(() => {
    loadInstance().catch(() => undefined); // the form works without it
  }, []);
  if (instance.value?.serverCreation === 'operators') return <p>Only operators of this installation can create servers.</p>;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const body = { name: name.value };
      const server = await call<Server>('POST', '/api/servers', body, { key: key.of(body) });
      key.done();
      onCreated(server);
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Server name"
        required
        value={name.value}
        onValue={(value) => (name.value = value)}
        error={task.error?.at('/name')}
      />
      <ErrorNotice error={task.error} shown={['/name']} />
      <Button type="submit" variant="main" busy={task.busy}>
        Create server
      </Button>
    </form>
  );
}
