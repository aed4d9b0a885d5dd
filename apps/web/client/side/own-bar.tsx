import { LogOut, Settings } from 'lucide';
import type { JSX } from 'preact';
import { logout, me } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { showError } from '../../ui/toast.tsx';
import { askToLeave } from '../../ui/unsaved.tsx';

/** The user's own name and the link to the settings. */
export function OwnBar(): JSX.Element | null {
  const own = me.value;
  if (!own) return null;
  return (
    <section class="own-bar" aria-label="Your account">
      <Avatar
        id={own.id}
        name={own.displayName}
        url={own.avatarUrl}
        size={34}
        status={own.status === 'invisible' ? 'offline' : own.status}
      />
      <span class="own-name">
        <strong>{own.displayName}</strong>
        <span class="soft">{own.customStatus ?? own.username}</span>
      </span>
      <a class="icon-button" href="/settings" aria-label="Your settings" title="Your settings">
        <Icon of={Settings} />
      </a>
      <IconButton of={LogOut} label="Log out" onClick={() => askToLeave(() => void logout().catch(showError), 'document')} />
    </section>
  );
}
