import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { Ban } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path, query } from '../../api/call.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { TextField, useTask } from '../../ui/form.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';

/** Bans an account that is not in the server, by its id. */
function BanById({ serverId, onBanned }: { serverId: string; onBanned: () => void }): JSX.Element {
  const id = useSignal('');
  const reason = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task
      .run(() => call('PUT', path`/api/servers/${serverId}/bans/${id.value.trim()}`, { reason: reason.value || null }))
      .then((done) => {
        if (!done) return;
        id.value = '';
        reason.value = '';
        showToast('Account banned.');
        onBanned();
      });
  };
  return (
    <form class="form" onSubmit={submit}>
      <h3>Ban an account by ID</h3>
      <p class="soft">Use this to ban someone who is not in the server. To ban a member, go to Members.</p>
      <TextField label="Account ID" required autocomplete="off" value={id.value} onValue={(value) => (id.value = value)} />
      <TextField
        label="Reason (optional)"
        value={reason.value}
        onValue={(value) => (reason.value = value)}
        error={task.error?.at('/reason')}
      />
      <ErrorNotice error={task.error} shown={['/reason']} />
      <div class="actions">
        <Button type="submit" variant="danger" busy={task.busy}>
          Ban
        </Button>
      </div>
    </form>
  );
}

/** The bans of a server with their reasons, newest first. Bans can be lifted and added. */
export function BansPage({ server }: { server: Server }): JSX.Element {
  const at = path`/api/servers/${server.id}/bans`;
  const bans = useLoaded<Ban[]>((signal) => call('GET', at, undefined, { signal }), [server.id]);
  const unbanning = useSignal<Ban | null>(null);
  const more = useTask();
  const list = bans.value;
  const loadMore = (): void =>
    void more.run(async () => {
      const older = await call<Ban[]>('GET', at + query({ before: list?.at(-1)?.user.id }));
      bans.set([...(list ?? []), ...older]);
    });
  const unban = async (): Promise<void> => {
    const id = unbanning.value?.user.id ?? '';
    await call('DELETE', path`/api/servers/${server.id}/bans/${id}`);
    bans.set((list ?? []).filter(({ user }) => user.id !== id));
  };
  return (
    <>
      <ErrorNotice error={bans.error} retry={bans.reload} />
      {!list && !bans.error && <p class="spinner">Loading…</p>}
      {list?.length === 0 && <p>Nobody is banned.</p>}
      <ul class="settings-list">
        {list?.map((ban) => (
          <li key={ban.user.id} class="settings-row">
            <Avatar id={ban.user.id} name={ban.user.displayName} url={ban.user.avatarUrl} />
            <span class="settings-row-text">
              <strong>{ban.user.displayName}</strong> <span class="soft">{ban.user.username}</span>
              <span class="settings-sub">{ban.reason ?? <span class="soft">No reason given</span>}</span>
              <time class="hint" dateTime={ban.createdAt}>
                {shortMomentOf(ban.createdAt)}
              </time>
            </span>
            <Button aria-label={`Unban ${ban.user.displayName}`} onClick={() => (unbanning.value = ban)}>
              Unban
            </Button>
          </li>
        ))}
      </ul>
      {list && list.length > 0 && list.length % limits.bansListed === 0 && (
        <div>
          <Button busy={more.busy} onClick={loadMore}>
            Show older bans
          </Button>
        </div>
      )}
      <ErrorNotice error={more.error} />
      <BanById serverId={server.id} onBanned={bans.reload} />
      {unbanning.value && (
        <Confirm title={`Unban ${unbanning.value.user.displayName}?`} action="Unban" run={unban} onClose={() => (unbanning.value = null)}>
          <p>They can rejoin with an invite or through Discovery.</p>
        </Confirm>
      )}
    </>
  );
}
