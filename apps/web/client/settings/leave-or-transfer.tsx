import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Member } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { ApiError, call, path } from '../../api/call.ts';
import { dropMembers, findMemberByUsername } from '../../state/people.ts';
import { dropServer, putServer } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { TextField, useTask } from '../../ui/form.tsx';
import { showToast } from '../../ui/toast.tsx';

/** Returns a function that drops a server that the user left or deleted, and opens the start page. */
function useCloseServer(serverId: string): () => void {
  const { route } = useLocation();
  return () => {
    route('/', true);
    dropMembers(serverId);
    dropServer(serverId);
  };
}

/** The button to leave a server, for everyone except its owner. */
export function LeaveServer({ server }: { server: Server }): JSX.Element {
  const isConfirming = useSignal(false);
  const closeServer = useCloseServer(server.id);
  const leave = async (): Promise<void> => {
    await call('DELETE', path`/api/users/@me/servers/${server.id}`);
    closeServer();
  };
  return (
    <section class="settings-block">
      <h3>Leave server</h3>
      <p class="soft">You lose your roles in this server. To rejoin, you need an invite, unless the server is listed in Discovery.</p>
      <Button variant="danger" onClick={() => (isConfirming.value = true)}>
        Leave server
      </Button>
      {isConfirming.value && (
        <Confirm title={`Leave ${server.name}?`} action="Leave" run={leave} onClose={() => (isConfirming.value = false)}>
          <p>You lose access to its channels immediately.</p>
        </Confirm>
      )}
    </section>
  );
}

/** The form that transfers the server to another member, by username. */
function TransferForm({ server }: { server: Server }): JSX.Element {
  const username = useSignal('');
  const asking = useSignal(false);
  const task = useTask();
  const newOwner = useSignal<Member['user'] | null>(null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const found = (await findMemberByUsername(server.id, username.value.trim().replace(/^@/, '')))?.user;
      if (!found || found.id === myId()) throw new ApiError(0, { message: 'No other member of this server has this username.' });
      newOwner.value = found;
      asking.value = true;
    });
  };
  const transfer = async (): Promise<void> => {
    const found = newOwner.value;
    if (!found) return;
    putServer(await call<Server>('PATCH', path`/api/servers/${server.id}`, { ownerId: found.id }));
    showToast(`${found.displayName} is now the owner of ${server.name}.`);
  };
  return (
    <form class="form" onSubmit={submit}>
      <h3>Transfer ownership</h3>
      <TextField
        label="Username of the new owner"
        hint="They must be a member of this server. Only the new owner can transfer it back."
        required
        value={username.value}
        onValue={(value) => (username.value = value)}
      />
      <ErrorNotice error={task.error} />
      <div class="actions">
        <Button type="submit" busy={task.busy}>
          Transfer
        </Button>
      </div>
      {asking.value && (
        <Confirm title={`Transfer ${server.name}?`} action="Transfer" run={transfer} onClose={() => (asking.value = false)}>
          <p>{newOwner.value?.displayName} becomes the owner. You keep your roles and lose all other permissions.</p>
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
  const goodbye = useCloseServer(server.id);
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
      <p class="soft">All its channels, messages and files are deleted. This cannot be undone.</p>
      <Button variant="danger" onClick={() => (asking.value = true)}>
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
            <ErrorNotice error={task.error} />
            <div class="actions">
              <Button onClick={close}>Cancel</Button>
              <Button type="submit" variant="danger" busy={task.busy} disabled={typed.value !== server.name}>
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
export function LeaveOrTransfer({ server }: { server: Server }): JSX.Element {
  if (server.ownerId !== myId()) return <LeaveServer server={server} />;
  return (
    <>
      <TransferForm server={server} />
      <DeleteServer server={server} />
    </>
  );
}
