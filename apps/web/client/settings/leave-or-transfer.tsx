import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Member } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { ApiError, call, path } from '../../api/call.ts';
import { dropMembers, findMemberByUsername } from '../../state/people.ts';
import { dropServer, putServer } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Confirm, ConfirmButton, DialogButton, FormDialog } from '../../ui/dialog.tsx';
import { Form, TextField, useForm } from '../../ui/form.tsx';
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
  const closeServer = useCloseServer(server.id);
  const leave = async (): Promise<void> => {
    await call('DELETE', path`/api/users/@me/servers/${server.id}`);
    closeServer();
  };
  return (
    <section class="settings-block">
      <h3>Leave server</h3>
      <p class="soft">You lose your roles in this server. To rejoin, you need an invite, unless the server is listed in Discovery.</p>
      <ConfirmButton
        variant="danger"
        question={`Leave ${server.name}?`}
        text="You lose access to its channels immediately."
        action="Leave"
        run={leave}
      >
        Leave server
      </ConfirmButton>
    </section>
  );
}

/** The form that transfers the server to another member, by username. */
function TransferForm({ server }: { server: Server }): JSX.Element {
  const form = useForm({ username: '' });
  const newOwner = useSignal<Member['user'] | null>(null);
  const find = async (): Promise<void> => {
    const found = (await findMemberByUsername(server.id, form.now.username.trim().replace(/^@/, '')))?.user;
    if (!found || found.id === myId()) throw new ApiError(0, { message: 'No other member of this server has this username.' });
    newOwner.value = found;
  };
  const transfer = async ({ id, displayName }: Member['user']): Promise<void> => {
    putServer(await call<Server>('PATCH', path`/api/servers/${server.id}`, { ownerId: id }));
    showToast(`${displayName} is now the owner of ${server.name}.`);
  };
  const found = newOwner.value;
  return (
    <>
      <Form form={form} run={find} action="Transfer" variant="plain">
        <h3>Transfer ownership</h3>
        <TextField
          label="Username of the new owner"
          hint="They must be a member of this server. Only the new owner can transfer it back."
          required
          {...form.bind('username')}
        />
      </Form>
      {found && (
        <Confirm title={`Transfer ${server.name}?`} action="Transfer" run={() => transfer(found)} onClose={() => (newOwner.value = null)}>
          <p>{found.displayName} becomes the owner. You keep your roles and lose all other permissions.</p>
        </Confirm>
      )}
    </>
  );
}

/** The dialog that deletes the server after its name was typed. */
function DeleteDialog({ server, onClose }: { server: Server; onClose: () => void }): JSX.Element {
  const form = useForm({ typed: '' });
  const closeServer = useCloseServer(server.id);
  const remove = async (): Promise<void> => {
    await call('DELETE', path`/api/servers/${server.id}`);
    closeServer();
  };
  return (
    <FormDialog
      title={`Delete ${server.name}?`}
      onClose={onClose}
      form={form}
      run={remove}
      action="Delete permanently"
      variant="danger"
      disabled={form.now.typed !== server.name}
    >
      <p>All channels, messages, files, roles and webhooks of this server are deleted for all members. This cannot be undone.</p>
      <TextField label="Enter the server name to confirm" hint={server.name} required autocomplete="off" {...form.bind('typed')} />
    </FormDialog>
  );
}

/** The ways to leave a server: the owner transfers or deletes it, other members leave it. */
export function LeaveOrTransfer({ server }: { server: Server }): JSX.Element {
  if (server.ownerId !== myId()) return <LeaveServer server={server} />;
  return (
    <>
      <TransferForm server={server} />
      <section class="settings-block">
        <h3>Delete server</h3>
        <p class="soft">All its channels, messages and files are deleted. This cannot be undone.</p>
        <DialogButton variant="danger" dialog={(close) => <DeleteDialog server={server} onClose={close} />}>
          Delete server
        </DialogButton>
      </section>
    </>
  );
}
