import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { hasPermission, type Permission, permissionBits } from '../../../../../lib/base/permissions.ts';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import { call, path } from '../../../api/call.ts';
import { myRights } from '../../../state/rights.ts';
import { putChannel } from '../../../state/servers.ts';
import { permissionTexts } from '../../../ui/permission-texts.ts';
import { DraftForm, useDraft } from '../draft.tsx';

/** The permissions that a channel can overwrite. The others apply to the whole server and come only from roles. */
const channelPermissions: readonly Permission[] = [
  'View Channel',
  'Send Messages',
  'Attach Files',
  'Add Reactions',
  'Mention Everyone',
  'Manage Messages',
  'Manage Channels',
  'Manage Roles',
  'Manage Webhooks',
];

type Choice = 'deny' | 'neutral' | 'allow';
const choices: readonly { value: Choice; label: string }[] = [
  { value: 'deny', label: 'Deny' },
  { value: 'neutral', label: 'Inherit from roles' },
  { value: 'allow', label: 'Allow' },
];

interface Bits {
  allow: number;
  deny: number;
}

const choiceOf = ({ allow, deny }: Bits, permission: Permission): Choice =>
  hasPermission(allow, permission) ? 'allow' : hasPermission(deny, permission) ? 'deny' : 'neutral';

function withChoice({ allow, deny }: Bits, permission: Permission, choice: Choice): Bits {
  const bit = permissionBits[permission];
  return {
    allow: choice === 'allow' ? allow | bit : allow & ~bit,
    deny: choice === 'deny' ? deny | bit : deny & ~bit,
  };
}

function PermissionChoice({
  permission,
  value,
  onValue,
  lockedReason,
}: {
  permission: Permission;
  value: Choice;
  onValue: (choice: Choice) => void;
  lockedReason: string | null;
}): JSX.Element {
  const id = useId();
  return (
    <fieldset class="overwrite-states" disabled={lockedReason !== null} aria-describedby={`${id}-hint`}>
      <legend>{permission}</legend>
      <p class="hint" id={`${id}-hint`}>
        {permissionTexts[permission]} {lockedReason}
      </p>
      <div class="settings-line">
        {choices.map((one) => (
          <label key={one.value} class={`overwrite-state ${one.value}`}>
            <input type="radio" name={id} checked={value === one.value} onChange={() => onValue(one.value)} />
            {one.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/**
 * Edits the overwrite of one role or member: each permission is allowed, denied or inherited from the roles. Users can change only permissions that they
 * have.
 */
export function OverwriteForm({
  channel,
  server,
  target,
}: {
  channel: Channel;
  server: Server;
  target: { id: string; name: string; lockedReason: string | null };
}): JSX.Element {
  const saved = channel.overwrites.find(({ id }) => id === target.id);
  const draft = useDraft<Bits>({ allow: saved?.allow ?? 0, deny: saved?.deny ?? 0 }, true);
  const myPermissions = myRights(server.id) | myRights(server.id, channel);
  const save = async (): Promise<void> => {
    const at = path`/api/channels/${channel.id}/overwrites/${target.id}`;
    const { allow, deny } = draft.now;
    if (allow | deny) return putChannel(await call<Channel>('PUT', at, { allow, deny }));
    await call('DELETE', at);
    putChannel({ ...channel, overwrites: channel.overwrites.filter(({ id }) => id !== target.id) });
  };
  return (
    <DraftForm draft={draft} save={save} disabled={target.lockedReason !== null}>
      {target.lockedReason && <p class="settings-notice">{target.lockedReason}</p>}
      {channelPermissions.map((permission) => (
        <PermissionChoice
          key={permission}
          permission={permission}
          value={choiceOf(draft.now, permission)}
          onValue={(choice) => draft.set(withChoice(draft.now, permission, choice))}
          lockedReason={target.lockedReason ?? (hasPermission(myPermissions, permission) ? null : 'You don’t have this permission.')}
        />
      ))}
    </DraftForm>
  );
}
