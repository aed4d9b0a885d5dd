import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Member, Server } from '../../../../lib/contract/server.ts';
import { findMembers, hasMoreMembers, loadMembers, loadMoreMembers, membersOf } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { TextField, useTask } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { MemberActions } from './member-actions.tsx';

/** How many members are shown at first, and how many more each time. */
const pageOf = 50;
/** How long after the last key press the service is asked, in milliseconds. */
const restMs = 150;

const matches = ({ user }: Member, text: string): boolean =>
  user.displayName.toLowerCase().includes(text) || user.username.includes(text) || user.id === text;

/** The members of a server by name, with their roles, and actions for members below the user. */
export function MembersPage({ server }: { server: Server }): JSX.Element {
  const text = useSignal('');
  const most = useSignal(pageOf);
  const task = useTask();
  const load = (): void => void task.run(() => loadMembers(server.id));
  useEffect(load, [server.id]);
  const wanted = text.value.trim().replace(/^@/, '').toLowerCase();
  useEffect(() => {
    if (wanted === '' || !hasMoreMembers(server.id)) return undefined;
    const stop = new AbortController();
    const rest = setTimeout(() => void findMembers(server.id, wanted, stop.signal).catch(() => undefined), restMs);
    return () => {
      clearTimeout(rest);
      stop.abort();
    };
  }, [server.id, wanted]);
  const members = membersOf(server.id);
  const more = hasMoreMembers(server.id);
  const reading = useTask();
  const readMore = (): void => void reading.run(() => loadMoreMembers(server.id));
  if (!members) return task.error ? <Problem error={task.error} again={load} /> : <p class="spinner">Loading …</p>;
  const found = [...members.values()]
    .filter((member) => matches(member, wanted))
    .toSorted((a, b) => a.user.displayName.localeCompare(b.user.displayName) || (a.user.id < b.user.id ? -1 : 1));
  return (
    <>
      <TextField label="Search" type="search" placeholder="Name or ID" value={text.value} onValue={(value) => (text.value = value)} />
      <p class="soft" role="status">
        {found.length !== members.size && `${found.length} of `}
        {more ? `the first ${countOf(members.size, 'member')}` : countOf(members.size, 'member')}
      </p>
      {may('Manage Roles', server.id) && (
        <p class="hint">You can give and take roles below your own highest. The own role of a bot is given and taken by nobody.</p>
      )}
      <ul class="settings-list">
        {found.slice(0, most.value).map((member) => (
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
      {(found.length > most.value || (more && wanted === '')) && (
        <div>
          <Button
            busy={reading.busy}
            onClick={() => {
              most.value += pageOf;
              if (found.length <= most.value) readMore();
            }}
          >
            Show more
          </Button>
        </div>
      )}
      <Problem error={reading.error} again={readMore} />
    </>
  );
}
