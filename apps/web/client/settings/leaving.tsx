import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Member, Server } from '../../../../lib/contract/server.ts';
import { ApiError, call, path } from '../../api/call.ts';
import { dropMembers, findByUsername } from '../../state/people.ts';
import { dropServer, putServer } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { TextField, useTask } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { say } from '../../ui/toast.tsx';

/** Returns a function that drops a server that the user left or deleted, and opens the start page. */
function useGoodbye(serverId: string): () => void {
  const { route } = useLocation();
  return () => {
    route('/', true);
    dropMembers(serverId);
    dropServer(serverId);
  };
}

/** The button to leave a server, for everyone except its owner. */
export function LeaveServer({ server }: { server: Server }): JSX.Element {
  const asking = useSignal(false);
  const goodbye = useGoodbye(server.id);
  const leave = async (): Promise<void> => {
    await call('DELETE', path`/api/users/@me/servers/${server.id}`);
    goodbye();
  };
  return (
    <section class="settings-block">
      <h3>Leave this server</h3>
      <p class="soft">You lose your roles here. To come back you need an invite, or Discovery if the server is listed.</p>
      <Button look="danger" onClick={() => (asking.value = true)}>
        Leave server
      </Button>
      {asking.value && (
        <Confirm title={`Leave ${server.name}?`} action="Leave" run={leave} onClose={() => (asking.value = false)}>
          <p>Its channels disappear from your list immediately.</p>
        </Confirm>
      )}
    </section>
  );
}

/** The form that transfers the server to another member, by username. */
function HandOver({ server }: { server: Server }): JSX.Element {
  const username = useSignal('');
  const asking = useSignal(false);
  const task = useTask();
  const heir = useSignal<Member['user'] | null>(null);
  const ask = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const found = (await findByUsername(server.id, username.value.trim().replace(/^@/, '')))?.user;
      if (!found || found.id === myId()) throw new ApiError(0, { message: 'No other member of this server has that username.' });
      heir.value = found;
      asking.value = true;
    });
  };
  const handOver = async (): Promise<void> => {
    const found = heir.value;
    if (!found) return;
    putServer(await call<Server>('PATCH', path`/api/servers/${server.id}`, { ownerId: found.id }));
    say(`${server.name} belongs to ${found.displayName} now.`);
  };
  return (
    <form class="form" onSubmit={ask}>
      <h3>Transfer ownership</h3>
      <TextField
        label="Username of the new owner"
        hint="They must be a member of this server. Only the new owner can transfer it back."
        required
        value={username.value}
        onValue={(value) => (username.value = value)}
      />
      <Problem error={task.error} />
      <div class="actions">
        <Button type="submit" busy={task.busy}>
          Transfer
        </Button>
      </div>
      {asking.value && (
        <Confirm title={`Transfer ${server.name}?`} action="Transfer" run={handOver} onClose={() => (asking.value = false)}>
          <p>{heir.value?.displayName} becomes the owner. You keep your roles and lose all other permissions.</p>
        </Confirm>
      )}
    </form>
  );
}

/** The button that deletes the server after its name was typed. */
function DeleteServer({ server }: { server: Server }): JSX.Element {
  const asking = useSignal(false);
  const typed = useSignal('');
  const task = useTask();
  const goodbye = useGoodbye(server.id);
  const close = (): void => {
    asking.value = false;
    typed.value = '';
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (typed.value !== server.name) return;
    void task.run(async () => {
      await call('DELETE', path`/api/servers/${server.id}`);
      goodbye();
    });
  };
  return (
    <section class="settings-block">
      <h3>Delete server</h3>
      <p class="soft">All its channels, messages and files go with it. Nobody can bring them back.</p>
      <Button look="danger" onClick={() => (asking.value = true)}>
        Delete server
      </Button>
      {asking.value && (
        <Dialog title={`Delete ${server.name}?`} onClose={close}>
          <form class="form" onSubmit={submit}>
            <p>All channels, messages, files, roles and webhooks of this server are deleted for all members. This cannot be undone.</p>
            <TextField
              label="Enter the server name to confirm"
              hint={server.name}
              required
              autocomplete="off"
              value={typed.value}
              onValue={(value) => (typed.value = value)}
            />
            <Problem error={task.error} />
            <div class="actions">
              <Button onClick={close}>Cancel</Button>
              <Button type="submit" look="danger" busy={task.busy} disabled={typed.value !== server.name}>
                Delete permanently
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </section>
  );
}

/** The ways to leave a server: the owner transfers or deletes it, other members leave it. */
export function PartingWays({ server }: { server: Server }): JSX.Element {
  if (server.ownerId !== myId()) return <LeaveServer server={server} />;
  return (
    <>
      <HandOver server={server} />
      <DeleteServer server={server} />
    </>
  );
}
