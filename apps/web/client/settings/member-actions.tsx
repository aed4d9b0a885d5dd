import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { BanInput, Member } from '../../../../lib/contract/member.ts';
import type { Role, Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { dropMember, membersOf, putMember } from '../../state/people.ts';
import { isBelowMe, may, myRank } from '../../state/rights.ts';
import { myId } from '../../state/session.ts';
import { ConfirmButton, Dialog, DialogButton, FormDialog } from '../../ui/dialog.tsx';
import { TextField, useForm } from '../../ui/form.tsx';
import { SwitchField } from '../../ui/switch-field.tsx';
import { showToast } from '../../ui/toast.tsx';

interface Props {
  server: Server;
  member: Member;
  onClose: () => void;
}

/** The dialog that adds and removes a member's roles; each change is saved at once. Roles that are not below the user's highest role cannot be changed. */
function RolesDialog({ server, member, onClose }: Props): JSX.Element {
  const rank = myRank(server);
  const setRole = async ({ id }: Role, on: boolean): Promise<void> => {
    await call(on ? 'PUT' : 'DELETE', path`/api/servers/${server.id}/members/${member.user.id}/roles/${id}`);
    // Read the current roles, because another role may have changed meanwhile.
    const now = membersOf(server.id)?.get(member.user.id) ?? member;
    const others = now.roles.filter((one) => one !== id);
    putMember(server.id, { ...now, roles: on ? [...others, id] : others });
  };
  const roles = server.roles.filter(({ id }) => id !== server.id);
  return (
    <Dialog title={`Roles of ${member.user.displayName}`} onClose={onClose}>
      {roles.length === 0 && <p>This server has no roles yet.</p>}
      {roles.map((role) => (
        <SwitchField
          key={role.id}
          label={role.name}
          checked={member.roles.includes(role.id)}
          disabled={role.position >= rank}
          {...(role.position >= rank && { hint: 'This role is not below your highest role.' })}
          save={(on) => setRole(role, on)}
        />
      ))}
    </Dialog>
  );
}

/** The dialog that bans a member, with a reason for the ban list and the audit log. */
function BanDialog({ server, member, onClose }: Props): JSX.Element {
  const form = useForm({ reason: '' });
  const ban = async (): Promise<void> => {
    const input: BanInput = { reason: form.now.reason === '' ? null : form.now.reason };
    await call('PUT', path`/api/servers/${server.id}/bans/${member.user.id}`, input);
    onClose();
    dropMember(server.id, member.user.id);
    showToast(`${member.user.displayName} was banned.`);
  };
  return (
    <FormDialog title={`Ban ${member.user.displayName}?`} onClose={onClose} form={form} run={ban} action="Ban" variant="danger">
      <p>They are removed from the server, cannot rejoin until you unban them, and are notified.</p>
      <TextField
        label="Reason (optional)"
        hint={`Up to ${limits.banReasonChars} characters. Shown in the ban list and the audit log.`}
        lines={2}
        {...form.field('reason')}
      />
    </FormDialog>
  );
}

/** The actions that the user may take on a member. Others are not offered. */
export function MemberActions({ server, member }: { server: Server; member: Member }): JSX.Element {
  const { user } = member;
  const isBelow = user.id !== myId() && isBelowMe(server, user.id, member.roles);
  const kick = async (): Promise<void> => {
    await call('DELETE', path`/api/servers/${server.id}/members/${user.id}`);
    dropMember(server.id, user.id);
    showToast(`${user.displayName} was kicked.`);
  };
  return (
    <span class="settings-line">
      {may('Manage Roles', server.id) && (
        <DialogButton
          aria-label={`Roles of ${user.displayName}`}
          dialog={(close) => <RolesDialog server={server} member={member} onClose={close} />}
        >
          Roles
        </DialogButton>
      )}
      {isBelow && may('Kick Members', server.id) && (
        <ConfirmButton
          aria-label={`Kick ${user.displayName}`}
          question={`Kick ${user.displayName}?`}
          text="They are removed from the server, can rejoin with an invite, and are notified."
          action="Kick"
          run={kick}
        >
          Kick
        </ConfirmButton>
      )}
      {isBelow && may('Ban Members', server.id) && (
        <DialogButton
          aria-label={`Ban ${user.displayName}`}
          dialog={(close) => <BanDialog server={server} member={member} onClose={close} />}
        >
          Ban
        </DialogButton>
      )}
    </span>
  );
}
