import { useComputed, useSignal } from '@preact/signals';
import { Crown } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { faceOf, hasMoreMembers, loadMembers, loadMoreMembers, membersOf } from '../../state/people.ts';
import { details } from '../../state/servers.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { useTask } from '../../ui/form.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Problem } from '../../ui/problem.tsx';
import { colorOf, roleStyle, TagMark } from '../chat/name.tsx';
import { openProfile } from '../people/open-profile.ts';
import type { Place } from '../place.ts';
import { type MemberRow, memberRows } from './member-rows.ts';
import { Panel } from './panel.tsx';
import './panels.css';

/** The height of every row, in pixels: the style sheet keeps to it, so that a row's place is known without drawing the others. */
const rowPx = 44;
/** Rows drawn beyond the view, so that scrolling shows no gaps. */
const beyond = 10;

function Row({
  row,
  serverId,
  at,
  count,
  more,
}: {
  row: MemberRow;
  serverId: string;
  at: number;
  count: number;
  more: boolean;
}): JSX.Element {
  if (row.kind === 'group')
    return (
      <li class="member-row group" aria-setsize={count} aria-posinset={at}>
        <h3>
          <bdi>{row.name}</bdi> — {row.count}
          {more && '+'}
        </h3>
      </li>
    );
  const { user, status, customStatus, isOwner } = row.member;
  const color = colorOf(serverId, user.id);
  return (
    <li class={`member-row ${status === 'offline' ? 'offline' : ''}`} aria-setsize={count} aria-posinset={at}>
      <button type="button" onClick={() => openProfile(user.id, serverId)}>
        <Avatar id={user.id} name={user.displayName} url={user.avatarUrl} size={32} status={status} />
        <span class="member-words">
          <span class={`name ${color ? 'coloured' : ''}`} style={roleStyle(color)}>
            <bdi>{user.displayName}</bdi>
            {isOwner && (
              <span class="owner-mark" role="img" aria-label="Owner" title="Owner">
                <Icon of={Crown} size="1em" />
              </span>
            )}
            <TagMark tag={faceOf(user.id)?.tag} />
          </span>
          {customStatus && (
            <span class="soft member-status">
              <bdi>{customStatus}</bdi>
            </span>
          )}
        </span>
      </button>
    </li>
  );
}

/**
 * A server's members by hoisted role, those who are online first. Only the rows in view are drawn. Of a large server the first are read, and more when the end
 * is in view: counts then end with a plus.
 */
function MemberList({ serverId }: { serverId: string }): JSX.Element {
  const reading = useTask();
  const view = useSignal({ from: 0, to: 30 });
  const rows = useComputed(() => memberRows(details.value.get(serverId)?.roles ?? [], [...(membersOf(serverId)?.values() ?? [])]));
  const all = rows.value;
  const more = hasMoreMembers(serverId);
  const { from, to } = view.value;
  const readMore = (): void => void reading.run(() => loadMoreMembers(serverId));
  useEffect(() => {
    if (more && to >= all.length && !reading.error) readMore();
  }, [more, to >= all.length, all.length]);
  const shown = all.slice(from, to);
  const look = (element: HTMLElement): void => {
    const first = Math.max(0, Math.floor(element.scrollTop / rowPx) - beyond);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / rowPx) + beyond;
    if (first !== view.value.from || last !== view.value.to) view.value = { from: first, to: last };
  };
  return (
    <div
      class="scroll member-list"
      onScroll={({ currentTarget }) => look(currentTarget)}
      ref={(element) => {
        if (element) look(element);
      }}
    >
      <ul style={{ paddingTop: `${Math.min(from, all.length) * rowPx}px`, paddingBottom: `${Math.max(0, all.length - to) * rowPx}px` }}>
        {shown.map((row, index) => (
          <Row key={row.key} row={row} serverId={serverId} at={from + index + 1} count={all.length} more={more} />
        ))}
      </ul>
      <Problem error={reading.error} again={readMore} />
    </div>
  );
}

/** The members of a place's server. */
export function MembersPanel({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  const serverId = place.serverId ?? '';
  const task = useTask();
  const load = (): void => void task.run(() => loadMembers(serverId));
  useEffect(load, [serverId]);
  return (
    <Panel title="Members" onClose={onClose} flush>
      {task.error && <Problem error={task.error} again={load} />}
      {membersOf(serverId) ? <MemberList serverId={serverId} /> : !task.error && <p class="spinner">Loading …</p>}
    </Panel>
  );
}
