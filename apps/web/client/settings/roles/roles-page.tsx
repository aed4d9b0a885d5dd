import { useSignal } from '@preact/signals';
import { ArrowDown, ArrowUp } from 'lucide';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Role, Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { myRank } from '../../../state/rights.ts';
import { putRole } from '../../../state/servers.ts';
import { Button, IconButton } from '../../../ui/button.tsx';
import { useCreateKey } from '../../../ui/create-key.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNotice } from '../../../ui/error-notice.tsx';
import { TextField, useTask } from '../../../ui/form.tsx';
import { RoleEditor } from './role-editor.tsx';

function NewRoleForm({ serverId, onCreated }: { serverId: string; onCreated: (role: Role) => void }): JSX.Element {
  const name = useSignal('');
  const task = useTask();
  const key = useCreateKey();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const input = { name: name.value };
      const role = await call<Role>('POST', path`/api/servers/${serverId}/roles`, input, { key: key.of(input) });
      key.done();
      putRole(serverId, role);
      onCreated(role);
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="Name" required value={name.value} onValue={(value) => (name.value = value)} error={task.error?.at('/name')} />
      <p class="hint">A new role is at the bottom of the list and has no permissions.</p>
      <ErrorNotice error={task.error} shown={['/name']} />
      <div class="actions">
        <Button type="submit" variant="main" busy={task.busy}>
          Create role
        </Button>
      </div>
    </form>
  );
}

/** The roles of a server, highest first, to create, move and edit them. `?role=` opens one. */
export function RolesPage({ server }: { server: Server }): JSX.Element {
  const { query, route } = useLocation();
  const isCreating = useSignal(false);
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
          <Button variant="main" onClick={() => (isCreating.value = true)}>
            Create role
          </Button>
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
      {isCreating.value && (
        <Dialog title="Create role" onClose={() => (isCreating.value = false)}>
          <NewRoleForm
            serverId={server.id}
            onCreated={({ id }) => {
              isCreating.value = false;
              route(`${list}?role=${id}`);
            }}
          />
        </Dialog>
      )}
    </>
  );
}
