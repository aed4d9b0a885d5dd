import { ArrowDown, ArrowUp } from 'lucide';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Role, Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { myRank } from '../../../state/rights.ts';
import { putRole } from '../../../state/servers.ts';
import { IconButton } from '../../../ui/button.tsx';
import { Dialog, DialogButton } from '../../../ui/dialog.tsx';
import { ErrorNotice } from '../../../ui/error-notice.tsx';
import { Form, TextField, useForm, useTask } from '../../../ui/form.tsx';
import { useCreate } from '../../../ui/use-create.ts';
import { RoleEditor } from './role-editor.tsx';

function NewRoleForm({ serverId, onCreated }: { serverId: string; onCreated: (role: Role) => void }): JSX.Element {
  const form = useForm({ name: '' });
  const create = useCreate();
  const run = async (): Promise<void> => {
    const role = await create<Role>(path`/api/servers/${serverId}/roles`, form.now);
    putRole(serverId, role);
    onCreated(role);
  };
  return (
    <Form form={form} run={run} action="Create role">
      <TextField label="Name" required {...form.field('name')} />
      <p class="hint">A new role is at the bottom of the list and has no permissions.</p>
    </Form>
  );
}

/** The roles of a server, highest first, to create, move and edit them. `?role=` opens one. */
export function RolesPage({ server }: { server: Server }): JSX.Element {
  const { query, route } = useLocation();
  const moving = useTask();
  const rank = myRank(server);
  const list = `/servers/${server.id}/settings/roles`;
  const move = (role: Role, position: number): void =>
    void moving.run(async () => {
      putRole(server.id, await call<Role>('PATCH', path`/api/servers/${server.id}/roles/${role.id}`, { position }));
    });
  if (query.role !== undefined) {
    const role = server.roles.find(({ id }) => id === query.role);
    return (
      <>
        <p>
          <a href={list}>All roles</a>
        </p>
        {role ? <RoleEditor key={role.id} role={role} server={server} /> : <p role="status">This role no longer exists.</p>}
      </>
    );
  }
  return (
    <>
      <p class="soft">
        The highest role is listed first. Members can manage only roles, and kick or ban only members, below their own highest role. A
        member has the permissions of all their roles.
      </p>
      {rank > 0 && (
        <div>
          <DialogButton
            variant="main"
            dialog={(close) => (
              <Dialog title="Create role" onClose={close}>
                <NewRoleForm
                  serverId={server.id}
                  onCreated={({ id }) => {
                    close();
                    route(`${list}?role=${id}`);
                  }}
                />
              </Dialog>
            )}
          >
            Create role
          </DialogButton>
        </div>
      )}
      <ErrorNotice error={moving.error} />
      <ul class="settings-list">
        {server.roles.map((role) => {
          const { id, name, color, position } = role;
          const isBelow = position < rank;
          return (
            <li key={id} class="settings-row">
              <span class="settings-role-dot" style={{ background: color ?? 'var(--line-field)' }} />
              <span class="settings-row-text">
                <strong>{name}</strong>
                {!isBelow && <span class="soft"> (not below your highest role)</span>}
              </span>
              {position > 0 && isBelow && (
                <>
                  <IconButton
                    of={ArrowUp}
                    label={`Move ${name} up`}
                    disabled={position + 1 >= rank || position + 1 >= server.roles.length || moving.busy}
                    onClick={() => move(role, position + 1)}
                  />
                  <IconButton
                    of={ArrowDown}
                    label={`Move ${name} down`}
                    disabled={position <= 1 || moving.busy}
                    onClick={() => move(role, position - 1)}
                  />
                </>
              )}
              <a class="button" href={`${list}?role=${id}`} aria-label={`${isBelow || position === 0 ? 'Edit' : 'View'} ${name}`}>
                {isBelow || position === 0 ? 'Edit' : 'View'}
              </a>
            </li>
          );
        })}
      </ul>
    </>
  );
}
