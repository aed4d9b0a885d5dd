import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { everyoneDefault, toPermissionNames } from '../../../../lib/base/permissions.ts';
import type { AuthorizeInput, BotAuthorization } from '../../../../lib/contract/application.ts';
import type { DirectoryApp } from '../../../../lib/contract/discovery.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { path } from '../../api/call.ts';
import { may, myRights } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { SelectField, useForm } from '../../ui/form.tsx';
import { useCreate } from '../../ui/use-create.ts';
import { PermissionList } from '../settings/permission-list.tsx';

/** Returns the servers to which the user may add bots: those that the user manages. Of developer servers only the user's own. */
const manageableServers = (): Server[] =>
  [...servers.value.values()].filter(
    ({ id, types, ownerId }) => may('Manage Server', id) && (!types.includes('developer') || ownerId === myId()),
  );

/** Adds a bot to a server that the user manages, with the permissions that the user chooses. */
export function AddAppDialog({ app, onClose }: { app: DirectoryApp; onClose: () => void }): JSX.Element {
  const offered = manageableServers();
  const form = useForm<{ serverId: string; bits: number }>({ serverId: '', bits: everyoneDefault });
  const done = useSignal<BotAuthorization | null>(null);
  const create = useCreate();
  const server = offered.find(({ id }) => id === form.now.serverId) ?? offered[0];
  const myPermissions = server ? myRights(server.id) : 0;
  const permissions = form.now.bits & myPermissions;
  if (done.value) {
    const { serverId } = done.value;
    const names = toPermissionNames(done.value.permissions).join(', ');
    return (
      <Dialog title={`${app.name} was added to ${servers.value.get(serverId)?.name}`} onClose={onClose}>
        <p>
          {names ? `Its role has these permissions: ${names}.` : 'Its role has no additional permissions: it can do what @everyone can.'}
        </p>
        <p class="soft">Members with Manage Roles can change this in the server settings.</p>
        <div class="actions">
          <a class="button main" href={`/servers/${serverId}`} onClick={onClose}>
            Open server
          </a>
        </div>
      </Dialog>
    );
  }
  const title = `Add ${app.name} to a server`;
  if (!server)
    return (
      <Dialog title={title} onClose={onClose} wide>
        <p>You don’t manage any servers. Create one, or ask someone with Manage Server to add the bot.</p>
      </Dialog>
    );
  const add = async (): Promise<void> => {
    const input: AuthorizeInput = { serverId: server.id, permissions };
    done.value = await create<BotAuthorization>(path`/api/applications/${app.id}/authorize`, input);
  };
  return (
    <FormDialog title={title} onClose={onClose} wide form={form} run={add} action="Add to server">
      <SelectField
        label="Server"
        hint="Servers where you have Manage Server."
        options={offered.map(({ id, name }) => ({ value: id, label: name }))}
        {...form.field('serverId')}
        value={server.id}
        onValue={(serverId) => {
          form.set({ serverId });
          form.task.clear();
        }}
      />
      <PermissionList
        legend={`Permissions of ${app.name}, in addition to those of @everyone`}
        bits={permissions}
        held={myPermissions}
        onBits={(bits) => form.set({ bits })}
      />
    </FormDialog>
  );
}
