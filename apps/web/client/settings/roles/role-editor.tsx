import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Role, Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { removeRoleFromMembers } from '../../../state/people.ts';
import { myRank, myRights } from '../../../state/rights.ts';
import { dropRole, putRole } from '../../../state/servers.ts';
import { ConfirmButton } from '../../../ui/dialog.tsx';
import { CheckField, Field, TextField } from '../../../ui/form.tsx';
import { DraftForm, useDraft } from '../draft.tsx';
import { PermissionList } from '../permission-list.tsx';

/** The initial color when a role gets its first color. */
const firstColor = '#5865f2';

/** The editor of one role: its name, color, grouping in the member list, permissions, and deletion. Of `@everyone` only the permissions can be changed. */
export function RoleEditor({ role, server }: { role: Role; server: Server }): JSX.Element {
  const { name, color, hoist, permissions } = role;
  const draft = useDraft<Pick<Role, 'name' | 'color' | 'hoist' | 'permissions'>>({ name, color, hoist, permissions });
  const { now, set } = draft;
  const { route } = useLocation();
  const isEveryone = role.id === server.id;
  const isLocked = !isEveryone && role.position >= myRank(server);
  const at = path`/api/servers/${server.id}/roles/${role.id}`;
  const save = async (): Promise<void> => putRole(server.id, await call<Role>('PATCH', at, draft.patch));
  const remove = async (): Promise<void> => {
    await call('DELETE', at);
    route(`/servers/${server.id}/settings/roles`, true);
    removeRoleFromMembers(server.id, role.id);
    dropRole(server.id, role.id);
  };
  return (
    <>
      <h3>{name}</h3>
      {isLocked && <p class="settings-notice">This role is not below your highest role. You can view it but not change it.</p>}
      <DraftForm draft={draft} save={save} disabled={isLocked}>
        {!isEveryone && (
          <>
            <TextField label="Name" required disabled={isLocked} {...draft.field('name')} />
            <CheckField
              label="Custom color"
              checked={now.color !== null}
              disabled={isLocked}
              onChecked={(on) => set({ color: on ? (color ?? firstColor) : null })}
            />
            {now.color !== null && (
              <Field label="Color" error={draft.field('color').error}>
                {(tie) => (
                  <input
                    {...tie}
                    type="color"
                    class="color-input"
                    disabled={isLocked}
                    value={now.color ?? firstColor}
                    onInput={({ currentTarget }) => set({ color: currentTarget.value })}
                  />
                )}
              </Field>
            )}
            <CheckField
              label="Show members separately"
              hint="The member list shows members with this role in their own group."
              disabled={isLocked}
              {...draft.check('hoist')}
            />
          </>
        )}
        <PermissionList
          legend={isEveryone ? 'Permissions of all members' : 'Permissions of members with this role'}
          bits={now.permissions}
          held={myRights(server.id)}
          onBits={(bits) => set({ permissions: bits })}
          disabled={isLocked}
        />
      </DraftForm>
      {!isEveryone && !isLocked && (
        <section class="settings-block">
          <h3>Delete role</h3>
          <p class="soft">It is removed from all its members. A bot’s own role is deleted when the bot leaves.</p>
          <ConfirmButton
            variant="danger"
            question={`Delete ${name}?`}
            text="It is removed from all members and from channel permissions."
            action="Delete permanently"
            run={remove}
          >
            Delete {name}
          </ConfirmButton>
        </section>
      )}
    </>
  );
}
