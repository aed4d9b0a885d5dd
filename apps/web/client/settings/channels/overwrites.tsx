import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { findMemberByUsername, loadMembers, nameOf } from '../../../state/people.ts';
import { myRank } from '../../../state/rights.ts';
import { Button } from '../../../ui/button.tsx';
import { bind, SelectField, TextField } from '../../../ui/form.tsx';
import { showError } from '../../../ui/toast.tsx';
import { askToLeave, useAskToChoose } from '../../../ui/unsaved.tsx';
import { useMembers } from '../../people/use-member.ts';
import { OverwriteForm } from './overwrite-form.tsx';

/** A role or member whose overwrite can be edited. */
interface OverwriteTarget {
  id: string;
  name: string;
  /** Why the user cannot change the overwrite; null when the user can. */
  lockedReason: string | null;
}

/** Returns the roles of a server, then the members who have an overwrite or were just added. */
function targetsOf(server: Server, channel: Channel, added: string | null): OverwriteTarget[] {
  const rank = myRank(server);
  const roles = server.roles.map(({ id, name, position }) => ({
    id,
    name,
    lockedReason: position === 0 || position < rank || server.myRoles.includes(id) ? null : 'This role is not below your highest role.',
  }));
  const known = new Set(server.roles.map(({ id }) => id));
  const memberIds = [...new Set([...channel.overwrites.map(({ id }) => id), ...(added ? [added] : [])])].filter((id) => !known.has(id));
  const members = memberIds.map((id) => ({ id, name: `${nameOf(id)} (member)`, lockedReason: null }));
  return [...roles, ...members];
}

/** The permission overwrites of a channel: for everyone, for roles and for members. */
export function Overwrites({ channel, server }: { channel: Channel; server: Server }): JSX.Element {
  const chosen = useSignal(server.id);
  const added = useSignal<string | null>(null);
  const username = useSignal('');
  const usernameError = useSignal<string | undefined>(undefined);
  useEffect(() => {
    loadMembers(server.id).catch(showError);
  }, [server.id]);
  const targets = targetsOf(server, channel, added.value);
  const target = targets.find(({ id }) => id === chosen.value) ?? targets.find(({ id }) => id === server.id);
  const changed = new Set(channel.overwrites.map(({ id }) => id));
  useMembers(
    server.id,
    channel.overwrites.map(({ id }) => id).filter((id) => !server.roles.some((role) => role.id === id)),
  );
  const add = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const member = await findMemberByUsername(server.id, username.value.trim().replace(/^@/, ''));
    usernameError.value = member ? undefined : 'No member of this server has this username.';
    if (!member) return;
    askToLeave(() => {
      added.value = member.user.id;
      chosen.value = member.user.id;
      username.value = '';
    }, 'part');
  };
  const choose = useAskToChoose((id: string) => (chosen.value = id));
  return (
    <section class="settings-block">
      <h3>Channel permissions</h3>
      <p class="soft">
        A channel can override the permissions of roles. Overrides apply in this order: @everyone, then a member’s roles (allow wins over
        deny), then the member. The owner and Administrators always have every permission.
      </p>
      <SelectField
        label="Role or member"
        options={targets.map(({ id, name }) => ({ value: id, label: changed.has(id) ? `${name} (has overrides)` : name }))}
        value={target?.id ?? server.id}
        onValue={choose}
      />
      <form class="settings-line settings-end" onSubmit={(event) => void add(event).catch(showError)}>
        <TextField label="Add a member by username" {...bind(username)} error={usernameError.value} autocomplete="off" />
        <Button type="submit" disabled={username.value.trim() === ''}>
          Add
        </Button>
      </form>
      {target && <OverwriteForm key={target.id} channel={channel} server={server} target={target} />}
    </section>
  );
}
