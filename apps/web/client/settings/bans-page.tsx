import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { Ban } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path, query } from '../../api/call.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { ConfirmButton } from '../../ui/dialog.tsx';
import { Form, TextField, useForm } from '../../ui/form.tsx';
import { Loading, MoreButton } from '../../ui/loading.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { showToast } from '../../ui/toast.tsx';
import { useGet } from '../../ui/use-loaded.ts';

/** Bans an account that is not in the server, by its id. */
function BanById({ serverId, onBanned }: { serverId: string; onBanned: () => void }): JSX.Element {
  const form = useForm({ id: '', reason: '' });
  const { id, reason } = form.now;
  const ban = async (): Promise<void> => {
    await call('PUT', path`/api/servers/${serverId}/bans/${id.trim()}`, { reason: reason || null });
    form.set({ id: '', reason: '' });
    showToast('Account banned.');
    onBanned();
  };
  return (
    <Form form={form} run={ban} action="Ban" variant="danger">
      <h3>Ban an account by ID</h3>
      <p class="soft">Use this to ban someone who is not in the server. To ban a member, go to Members.</p>
      <TextField label="Account ID" required autocomplete="off" {...form.bind('id')} />
      <TextField label="Reason (optional)" {...form.field('reason')} />
    </Form>
  );
}

/** The bans of a server with their reasons, newest first. Bans can be lifted and added. */
export function BansPage({ server }: { server: Server }): JSX.Element {
  const at = path`/api/servers/${server.id}/bans`;
  const bans = useGet<Ban[]>(at);
  const list = bans.value;
  const loadMore = async (): Promise<void> => {
    const older = await call<Ban[]>('GET', at + query({ before: list?.at(-1)?.user.id }));
    bans.set([...(list ?? []), ...older]);
  };
  const unban = async (id: string): Promise<void> => {
    await call('DELETE', path`/api/servers/${server.id}/bans/${id}`);
    bans.set((list ?? []).filter(({ user }) => user.id !== id));
  };
  return (
    <>
      <Loading of={bans} />
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
            <ConfirmButton
              aria-label={`Unban ${ban.user.displayName}`}
              question={`Unban ${ban.user.displayName}?`}
              text="They can rejoin with an invite or through Discovery."
              action="Unban"
              run={() => unban(ban.user.id)}
            >
              Unban
            </ConfirmButton>
          </li>
        ))}
      </ul>
      {list && list.length > 0 && list.length % limits.bansListed === 0 && <MoreButton load={loadMore}>Show older bans</MoreButton>}
      <BanById serverId={server.id} onBanned={bans.reload} />
    </>
  );
}
