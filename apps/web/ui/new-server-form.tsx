import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Server } from '../../../lib/contract/server.ts';
import { call } from '../api/call.ts';
import { Button } from './button.tsx';
import { useCreateKey } from './create-key.ts';
import { TextField, useTask } from './form.tsx';
import { Problem } from './problem.tsx';

/** A form that creates a server. `name` is the initial name; `onMade` gets the new server. */
export function NewServerForm({ name: first = '', onMade }: { name?: string; onMade: (server: Server) => void }): JSX.Element {
  const name = useSignal(first);
  const task = useTask();
  const key = useCreateKey();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const body = { name: name.value };
      const server = await call<Server>('POST', '/api/servers', body, { key: key.of(body) });
      key.done();
      onMade(server);
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
      <Problem error={task.error} shown={['/name']} />
      <Button type="submit" look="main" busy={task.busy}>
        Create server
      </Button>
    </form>
  );
}
