import type { JSX } from 'preact';
import type { Invite } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { countOf } from '../../ui/counts.ts';
import { ConfirmButton, DialogButton } from '../../ui/dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { momentOf } from '../../ui/times.ts';
import { useGet } from '../../ui/use-loaded.ts';
import { InviteDialog, inviteLink } from './invite-dialog.tsx';
import { mayInvite } from './invite-rights.ts';

const usesOf = ({ uses, maxUses }: Invite): string =>
  maxUses === 0 ? `used ${countOf(uses, 'time')}, no limit` : `used ${uses} of ${maxUses} times`;

/** The valid invites of a server, to create, copy and revoke them. */
export function InvitesPage({ server }: { server: Server }): JSX.Element {
  const invites = useGet<Invite[]>(path`/api/servers/${server.id}/invites`, server.invitesPaused);
  const revoke = async (code: string): Promise<void> => {
    await call('DELETE', path`/api/invites/${code}`);
    invites.set((invites.value ?? []).filter((one) => one.code !== code));
  };
  return (
    <>
      {server.types.includes('staff') && (
        <p class="settings-notice">This is a staff server: only members with Manage Server can create invites.</p>
      )}
      {server.types.includes('developer') && (
        <p class="settings-notice">
          This is a developer server: only the owner and Administrators can create invites. Each invite can be used once and expires after
          at most an hour.
        </p>
      )}
      {server.invitesPaused && <p class="settings-notice">Invites are paused: nobody can join until they are resumed in the overview.</p>}
      {mayInvite(server.id) && (
        <div>
          <DialogButton variant="main" dialog={(close) => <InviteDialog server={server} onClose={close} onCreated={invites.reload} />}>
            Create invite
          </DialogButton>
        </div>
      )}
      <Loading of={invites} />
      {invites.value?.length === 0 && <p>There are no active invites.</p>}
      <ul class="settings-list">
        {invites.value?.map((invite) => (
          <li key={invite.code} class="settings-row">
            <span class="settings-row-text">
              <code>{inviteLink(invite.code)}</code>
              <span class="hint settings-sub">
                {usesOf(invite)}; {invite.expiresAt ? `expires ${momentOf(invite.expiresAt)}` : 'never expires'}
              </span>
            </span>
            <CopyButton text={inviteLink(invite.code)} what={`the link ${invite.code}`}>
              Copy
            </CopyButton>
            <ConfirmButton
              aria-label={`Revoke ${invite.code}`}
              question="Revoke invite?"
              text={
                <>
                  <code>{inviteLink(invite.code)}</code> will stop working. People who joined with it stay members.
                </>
              }
              action="Revoke"
              run={() => revoke(invite.code)}
            >
              Revoke
            </ConfirmButton>
          </li>
        ))}
      </ul>
    </>
  );
}
