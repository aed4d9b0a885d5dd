import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { everyoneDefault, toPermissionNames } from '../../../../lib/base/permissions.ts';
import type { AuthorizeInput, BotAuthorization } from '../../../../lib/contract/application.ts';
import type { DirectoryApp } from '../../../../lib/contract/discovery.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { may, myRights } from '../../state/rights.ts';
import { servers } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { useCreateKey } from '../../ui/create-key.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { SelectField, useTask } from '../../ui/form.tsx';
import { PermissionList } from '../settings/permission-list.tsx';

/** Returns the servers to which the user may add bots: those that the user manages. Of developer servers only the user's own. */
const manageableServers = (): Server[] =>
  [...servers.value.values()].filter(
    ({ id, types, ownerId }) => may('Manage Server', id) && (!types.includes('developer') || ownerId === myId()),
  );

/** Adds a bot to a server that the user manages, with the permissions that the user chooses. */
export function AddAppDialog({ app, onClose }: { app: DirectoryApp; onClose: () => void }): JSX.Element {
  const offered = manageableServers();
  const chosen = useSignal('');
  const bits = useSignal<number>(everyoneDefault);
  const done = useSignal<BotAuthorization | null>(null);
  const task = useTask();
  const key = useCreateKey();
  const server = offered.find(({ id }) => id === chosen.value) ?? offered[0];
  const myPermissions = server ? myRights(server.id) : 0;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!server) return;
    void task.run(async () => {
      const input: AuthorizeInput = { serverId: server.id, permissions: bits.value & myPermissions };
      done.value = await call<BotAuthorization>('POST', path`/api/applications/${app.id}/authorize`, input, { key: key.of(input) });
      key.done();
    });
  };
  if (done.value) {
    const { serverId, permissions } = done.value;
    const names = toPermissionNames(permissions).join(', ');
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
  return (
    <Dialog title={`Add ${app.name} to a server`} onClose={onClose} wide>
      {!server && <p>You don’t manage any servers. Create one, or ask someone with Manage Server to add the bot.</p>}
      {server && (
        <form class="form" onSubmit={submit}>
          <SelectField
            label="Server"
            hint="Servers where you have Manage Server."
            options={offered.map(({ id, name }) => ({ value: id, label: name }))}
            value={server.id}
            onValue={(id) => {
              chosen.value = id;
              task.clear();
            }}
            error={task.error?.at('/serverId')}
          />
          <PermissionList
            legend={`Permissions of ${app.name}, in addition to those of @everyone`}
            bits={bits.value & myPermissions}
            held={myPermissions}
            onBits={(value) => (bits.value = value)}
          />
          <ErrorNotice error={task.error} shown={['/serverId']} />
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="main" busy={task.busy}>
              Add to server
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
