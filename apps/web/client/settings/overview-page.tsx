import type { JSX } from 'preact';
import type { Server, ServerPatch } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { putServer } from '../../state/servers.ts';
import { CheckField, TextField } from '../../ui/form.tsx';
import { DraftForm, useDraft } from './draft.tsx';
import { LeaveOrTransfer } from './leave-or-transfer.tsx';
import { PictureField } from './picture-field.tsx';

/** A server's name, icon and invite pause, and the ways to leave the server. */
export function OverviewPage({ server }: { server: Server }): JSX.Element {
  const draft = useDraft({ name: server.name, invitesPaused: server.invitesPaused });
  const save = async (): Promise<void> => {
    const patch: ServerPatch = draft.patch;
    putServer(await call<Server>('PATCH', path`/api/servers/${server.id}`, patch));
  };
  return (
    <>
      <PictureField
        label="Server icon"
        at={path`/api/servers/${server.id}/icon`}
        owner={{ id: server.id, name: server.name, url: server.iconUrl }}
        square
        onPicture={(iconUrl) => putServer({ ...server, iconUrl })}
      />
      <DraftForm draft={draft} save={save}>
        <TextField label="Name" required {...draft.field('name')} />
        <CheckField
          label="Pause invites"
          hint="Nobody can join with an invite or through Discovery until you turn this off. Existing invites are kept."
          {...draft.check('invitesPaused')}
        />
      </DraftForm>
      {server.messageRetentionDays !== null && (
        <p class="settings-notice">
          Messages are deleted after {server.messageRetentionDays === 1 ? 'one day' : `${server.messageRetentionDays} days`}.
        </p>
      )}
      <LeaveOrTransfer server={server} />
    </>
  );
}
