import { useComputed, useSignal } from '@preact/signals';
import { Crown } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hasMoreMembers, loadMembers, loadMoreMembers, membersOf, userOf } from '../../state/people.ts';
import { servers } from '../../state/servers.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import type { ChannelContext } from '../channel-context.ts';
import { colorOf, roleStyle, TagMark } from '../chat/name.tsx';
import { openProfile } from '../people/open-profile.ts';
import { usePresences } from '../people/use-presences.ts';
import { type MemberRow, memberAt, memberRows, membersWatched, watchedOf } from './member-rows.ts';
import { Panel } from './panel.tsx';
import './panels.css';

/** The height of every row, in pixels. The style sheet uses the same height, so that the position of a row is known without rendering the others. */
const rowPx = 44;
/** The number of rows rendered beyond the view, so that scrolling shows no gaps. */
const overscanRows = 10;

function Row({
  row,
  serverId,
  at,
  count,
  more,
  isTabStop,
}: {
  row: MemberRow;
  serverId: string;
  at: number;
  count: number;
  more: boolean;
  isTabStop: boolean;
}): JSX.Element {
  const position = { 'aria-setsize': more ? -1 : count, 'aria-posinset': at };
  if (row.kind === 'group')
    return (
      <li class="member-row group" {...position}>
        <h3>
          <bdi>{row.name}</bdi> — {row.count}
          {more && '+'}
        </h3>
      </li>
    );
  const { user, status, customStatus, isOwner } = row.member;
  const color = colorOf(serverId, user.id);
  return (
    <li class={`member-row ${status === 'offline' ? 'offline' : ''}`} {...position}>
      <button type="button" data-key={row.key} tabIndex={isTabStop ? 0 : -1} onClick={() => openProfile(user.id, serverId)}>
        <Avatar id={user.id} name={user.displayName} url={user.avatarUrl} size={32} status={status} />
        <span class="member-text">
          <span class={`name ${color ? 'colored' : ''}`} style={roleStyle(color)}>
            <bdi>{user.displayName}</bdi>
            {isOwner && (
              <span class="owner-mark" role="img" aria-label="Owner" title="Owner">
                <Icon of={Crown} size="1em" />
              </span>
            )}
            <TagMark tag={userOf(user.id)?.tag} />
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
 * The members of a server by hoisted role, online members first. Only the rows in view are rendered. Of a large server the first members are loaded, and more
 * when the end is in view; meanwhile the counts end with a plus. Tab moves to one row, and the arrow keys move between rows.
 */
function MemberList({ serverId }: { serverId: string }): JSX.Element {
  const loading = useTask();
  const view = useSignal({ from: 0, to: 30 });
  const rows = useComputed(() => memberRows(servers.value.get(serverId)?.roles ?? [], [...(membersOf(serverId)?.values() ?? [])]));
  const all = rows.value;
  const more = hasMoreMembers(serverId);
  const { from, to } = view.value;
  const loadMore = (): void => void loading.run(() => loadMoreMembers(serverId));
  useEffect(() => {
    if (more && to >= all.length && !loading.error) loadMore();
  }, [more, to >= all.length, all.length]);
  const shown = all.slice(from, to);
  usePresences(watchedOf(all, shown));
  const listElement = useRef<HTMLDivElement>(null);
  const currentKey = useSignal<string | null>(null);
  /** The row that gets the focus when it is rendered. */
  const focusKey = useRef<string | null>(null);
  const tabStop = shown.find(({ key }) => key === currentKey.value) ?? shown.find(({ kind }) => kind === 'member');
  useEffect(() => {
    // An effect of an earlier rendering may run after the key press, so compare the keys.
    if (tabStop && tabStop.key === focusKey.current) listElement.current?.querySelector<HTMLElement>('button[tabindex="0"]')?.focus();
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const element = listElement.current;
    const pageRows = Math.floor((element?.clientHeight ?? 0) / rowPx);
    const at = memberAt(all, all.indexOf(tabStop as MemberRow), event.key, pageRows);
    const next = all[at];
    if (!element || !next) return;
    event.preventDefault();
    currentKey.value = next.key;
    focusKey.current = next.key;
    if (at * rowPx < element.scrollTop) element.scrollTop = at * rowPx;
    else if ((at + 1) * rowPx > element.scrollTop + element.clientHeight) element.scrollTop = (at + 1) * rowPx - element.clientHeight;
    updateView(element);
  };
  const updateView = (element: HTMLElement): void => {
    const first = Math.max(0, Math.floor(element.scrollTop / rowPx) - overscanRows);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / rowPx) + overscanRows;
    if (first !== view.value.from || last !== view.value.to) view.value = { from: first, to: last };
  };
  return (
    <div
      class="scroll member-list"
      onScroll={({ currentTarget }) => updateView(currentTarget)}
      onKeyDown={onKeyDown}
      onFocusIn={({ target }) => {
        const focused = (target as Element).closest<HTMLElement>('[data-key]')?.dataset.key;
        focusKey.current = null;
        if (focused !== undefined) currentKey.value = focused;
      }}
      ref={(element) => {
        listElement.current = element;
        if (element) updateView(element);
      }}
    >
      <ul style={{ paddingTop: `${Math.min(from, all.length) * rowPx}px`, paddingBottom: `${Math.max(0, all.length - to) * rowPx}px` }}>
        {shown.map((row, index) => (
          <Row
            key={row.key}
            row={row}
            serverId={serverId}
            at={from + index + 1}
            count={all.length}
            more={more}
            isTabStop={row === tabStop}
          />
        ))}
      </ul>
      <ErrorNotice error={loading.error} retry={loadMore} />
    </div>
  );
}

/** The members of the channel's server. */
export function MembersPanel({ context, onClose }: { context: ChannelContext; onClose: () => void }): JSX.Element {
  const serverId = context.serverId ?? '';
  // In a large server not all presences are kept up to date, so loaded members may be outdated.
  const isLarge = (membersOf(serverId)?.size ?? 0) > membersWatched;
  const { error, reload } = useLoaded(() => loadMembers(serverId, isLarge), [serverId]);
  return (
    <Panel title="Members" onClose={onClose} flush>
      <Loading of={{ value: membersOf(serverId), error, reload }}>{() => <MemberList serverId={serverId} />}</Loading>
    </Panel>
  );
}
