import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { BanInput, Member } from '../../../../lib/contract/member.ts';
import type { Role, Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { dropMember, membersOf, putMember } from '../../state/people.ts';
import { isBelowMe, may, myRank } from '../../state/rights.ts';
import { myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { TextField, useTask } from '../../ui/form.tsx';
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
  const reason = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task.run(async () => {
      const input: BanInput = { reason: reason.value === '' ? null : reason.value };
      await call('PUT', path`/api/servers/${server.id}/bans/${member.user.id}`, input);
      onClose();
      dropMember(server.id, member.user.id);
      showToast(`${member.user.displayName} was banned.`);
    });
  };
  return (
    <Dialog title={`Ban ${member.user.displayName}?`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>They are removed from the server, cannot rejoin until you unban them, and are notified.</p>
        <TextField
          label="Reason (optional)"
          hint={`Up to ${limits.banReasonChars} characters. Shown in the ban list and the audit log.`}
          lines={2}
          value={reason.value}
          onValue={(value) => (reason.value = value)}
          error={task.error?.at('/reason')}
        />
        <ErrorNotice error={task.error} shown={['/reason']} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="danger" busy={task.busy}>
            Ban
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The actions that the user may take on a member. Others are not offered. */
export function MemberActions({ server, member }: { server: Server; member: Member }): JSX.Element {
  const open = useSignal<'roles' | 'kick' | 'ban' | null>(null);
  const { user } = member;
  const close = (): void => {
    open.value = null;
  };
  const isBelow = user.id !== myId() && isBelowMe(server, user.id, member.roles);
  const kick = async (): Promise<void> => {
    await call('DELETE', path`/api/servers/${server.id}/members/${user.id}`);
    close();
    dropMember(server.id, user.id);
    showToast(`${user.displayName} was kicked.`);
  };
  return (
    <span class="settings-line">
      {may('Manage Roles', server.id) && (
        <Button aria-label={`Roles of ${user.displayName}`} onClick={() => (open.value = 'roles')}>
          Roles
        </Button>
      )}
      {isBelow && may('Kick Members', server.id) && (
        <Button aria-label={`Kick ${user.displayName}`} onClick={() => (open.value = 'kick')}>
          Kick
        </Button>
      )}
      {isBelow && may('Ban Members', server.id) && (
        <Button aria-label={`Ban ${user.displayName}`} onClick={() => (open.value = 'ban')}>
          Ban
        </Button>
      )}
      {open.value === 'roles' && <RolesDialog server={server} member={member} onClose={close} />}
      {open.value === 'ban' && <BanDialog server={server} member={member} onClose={close} />}
      {open.value === 'kick' && (
        <Confirm title={`Kick ${user.displayName}?`} action="Kick" run={kick} onClose={close}>
          <p>They are removed from the server, can rejoin with an invite, and are notified.</p>
        </Confirm>
      )}
    </span>
  );
}
