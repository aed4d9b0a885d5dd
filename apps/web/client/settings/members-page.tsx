import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { foldSearch } from '../../../../lib/base/text.ts';
import type { Member } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { findMembers, hasMoreMembers, loadMembers, loadMoreMembers, membersOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { bind, TextField, useTask } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { MemberActions } from './member-actions.tsx';

/** How many members are shown at first, and how many more each time. */
const pageSize = 50;
/** How long after the last key press the service is asked, in milliseconds. */
const debounceMs = 150;

const matches = ({ user }: Member, text: string): boolean =>
  [user.displayName, user.username].some((name) => foldSearch(name).includes(text)) || user.id === text;

/** The members of a server by name, with their roles, and actions for members below the user. */
export function MembersPage({ server }: { server: Server }): JSX.Element {
  const text = useSignal('');
  const shownCount = useSignal(pageSize);
  const { error, reload } = useLoaded(() => loadMembers(server.id), [server.id]);
  const query = foldSearch(text.value.trim().replace(/^@/, ''));
  useEffect(() => {
    if (query === '' || !hasMoreMembers(server.id)) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => void findMembers(server.id, query, stop.signal).catch(() => undefined), debounceMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [server.id, query]);
  const members = membersOf(server.id);
  const hasMore = hasMoreMembers(server.id);
  const loadingMore = useTask();
  const loadMore = (): void => void loadingMore.run(() => loadMoreMembers(server.id));
  if (!members) return <Loading of={{ error, reload }} />;
  const found = [...members.values()]
    .filter((member) => matches(member, query))
    .toSorted((a, b) => a.user.displayName.localeCompare(b.user.displayName) || (a.user.id < b.user.id ? -1 : 1));
  return (
    <>
      <TextField label="Search members" type="search" placeholder="Name or ID" {...bind(text)} />
      <p class="soft" role="status">
        {found.length !== members.size && `${found.length} of `}
        {hasMore ? `the first ${countOf(members.size, 'member')}` : countOf(members.size, 'member')}
      </p>
      {may('Manage Roles', server.id) && (
        <p class="hint">You can assign and remove roles below your highest role. A bot’s own role can’t be assigned or removed.</p>
      )}
      <ul class="settings-list">
        {found.slice(0, shownCount.value).map((member) => (
          <li key={member.user.id} class="settings-row settings-member">
            <Avatar id={member.user.id} name={member.user.displayName} url={member.user.avatarUrl} status={member.status} />
            <span class="settings-row-text">
              <strong>{member.user.displayName}</strong> <span class="soft">{member.user.username}</span>{' '}
              {member.isOwner && <span class="tag">Owner</span>}
              <span class="settings-role-chips">
                {server.roles
                  .filter(({ id }) => member.roles.includes(id))
                  .map(({ id, name, color }) => (
                    <span key={id} class="settings-role-chip">
                      <span class="settings-role-dot" style={{ background: color ?? 'var(--line-field)' }} />
                      {name}
                    </span>
                  ))}
              </span>
            </span>
            <MemberActions server={server} member={member} />
          </li>
        ))}
      </ul>
      {(found.length > shownCount.value || (hasMore && query === '')) && (
        <div>
          <Button
            busy={loadingMore.busy}
            onClick={() => {
              shownCount.value += pageSize;
              if (found.length <= shownCount.value) loadMore();
            }}
          >
            Show more
          </Button>
        </div>
      )}
      <ErrorNotice error={loadingMore.error} retry={loadMore} />
    </>
  );
}
