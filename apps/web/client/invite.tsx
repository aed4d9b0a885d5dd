import type { JSX } from 'preact';
import { useLocation, useRoute } from 'preact-iso';
import type { InvitePreview } from '../../../lib/contract/member.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { call, path } from '../api/call.ts';
import { putServer } from '../state/servers.ts';
import { loginPath, me, registerPath } from '../state/session.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { countOf } from '../ui/counts.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { useGet } from '../ui/use-loaded.ts';
import { isTemporary } from '../ui/use-retry.ts';

/** The page of an invite: the server, and the button to join it. It can be opened without a login. */
export function InvitePage(): JSX.Element {
  const { code = '' } = useRoute().params;
  const { route } = useLocation();
  const invite = useGet<InvitePreview>(path`/api/invites/${code}`);
  const joining = useTask();
  const join = (): void =>
    void joining.run(async () => {
      const server = await call<Server>('POST', path`/api/invites/${code}`);
      putServer(server);
      route(`/servers/${server.id}`, true);
    });
  const server = invite.value?.server;
  const here = path`/invite/${code}`;
  return (
    <main class="entry">
      <div class="form">
        <h1>{invite.error && !isTemporary(invite.error) ? 'Invite not valid' : 'You’ve been invited'}</h1>
        <ErrorNotice error={invite.error} />
        {server && (
          <p class="invited">
            <Avatar id={server.id} name={server.name} url={server.iconUrl} size={56} square />
            <span>
              <strong>{server.name}</strong>
              <br />
              <span class="soft">{countOf(server.memberCount, 'member')}</span>
            </span>
          </p>
        )}
        <ErrorNotice error={joining.error} />
        {server && me.value && (
          <Button variant="main" busy={joining.busy} onClick={join}>
            Join {server.name}
          </Button>
        )}
        {server && !me.value && (
          <p>
            <a class="button main" href={registerPath(here)}>
              Create account
            </a>{' '}
            <a class="button" href={loginPath(here)}>
              Log in
            </a>
          </p>
        )}
        <p>
          <a href="/">Go to home page</a>
        </p>
      </div>
    </main>
  );
}
