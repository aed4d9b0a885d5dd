import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { dms } from '../../state/dms.ts';
import { presenceOf, userOf } from '../../state/people.ts';
import { isUnread } from '../../state/reads.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { usePresences } from '../people/use-presences.ts';

/** The number of DMs, newest first, whose presence is shown. */
const watchedDms = 100;

/** The user's DMs, newest first. */
export function DmList(): JSX.Element {
  const { path } = useLocation();
  usePresences(dms.value.slice(0, watchedDms).map(({ recipient }) => recipient.id));
  return (
    <nav class="channel-list" aria-label="Direct messages">
      <header>
        <h2>Direct messages</h2>
      </header>
      <ul class="scroll">
        {dms.value.map(({ id, recipient }) => (
          <li key={id}>
            <a
              class={`channel-row ${isUnread(id) ? 'unread' : ''}`}
              href={`/dms/${id}`}
              aria-current={path.endsWith(id) ? 'page' : undefined}
            >
              <Avatar
                id={recipient.id}
                name={recipient.displayName}
                url={userOf(recipient.id)?.avatarUrl ?? null}
                size={32}
                {...(recipient.tag !== 'system' && { status: presenceOf(recipient.id)?.status ?? recipient.status })}
              />
              <span class="channel-name">{userOf(recipient.id)?.displayName ?? recipient.displayName}</span>
              {isUnread(id) && <span class="visually-hidden">unread</span>}
            </a>
          </li>
        ))}
        {dms.value.length === 0 && (
          <li class="soft channel-row">No direct messages yet. To start a conversation, open someone’s profile.</li>
        )}
      </ul>
    </nav>
  );
}
