import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { dms } from '../state/dms.ts';
import { isUnread, mentionsIn } from '../state/reads.ts';
import { details } from '../state/servers.ts';
import { Dialog } from '../ui/dialog.tsx';
import { sideOpen } from './page.tsx';
import { holdsMessages, pathOf } from './place.ts';
import { onShortcut, overPage, shortcuts } from './shortcuts.ts';

interface Target {
  path: string;
  name: string;
  where: string;
  rank: number;
}

/** The maximum number of results. */
const shownAtMost = 12;

const folded = (text: string): string => text.toLowerCase();

/**
 * Returns the DMs, servers and channels whose own name or server name contains `text`: first those with mentions, then unread ones, then those whose name
 * begins with `text`.
 */
function targetsFor(text: string): Target[] {
  const wanted = folded(text.trim());
  const rank = (id: string, name: string): number =>
    (mentionsIn(id) ? 4 : 0) + (isUnread(id) ? 2 : 0) + (folded(name).startsWith(wanted) ? 1 : 0);
  const all: Target[] = [
    ...dms.value.map(({ id, recipient: { displayName } }) => ({
      path: `/dms/${id}`,
      name: displayName,
      where: 'Direct message',
      rank: rank(id, displayName),
    })),
    ...[...details.value.values()].flatMap((server) => [
      { path: `/servers/${server.id}`, name: server.name, where: 'Server', rank: rank(server.id, server.name) },
      ...server.channels.filter(holdsMessages).map(({ id, name }) => ({
        path: pathOf(id),
        name: name ?? '',
        where: server.name,
        rank: rank(id, name ?? ''),
      })),
    ]),
  ];
  return all
    .filter(({ name, where }) => folded(`${name} ${where}`).includes(wanted))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, shownAtMost);
}

/** The dialog to go to a DM, server or channel by name. */
function Switcher({ onClose }: { onClose: () => void }): JSX.Element {
  const text = useSignal('');
  const at = useSignal(0);
  const found = useComputed(() => targetsFor(text.value));
  const { route } = useLocation();
  const id = useId();
  const go = (target: Target | undefined): void => {
    if (!target) return;
    onClose();
    sideOpen.value = false;
    route(target.path);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(found.value[at.value]);
    else if (step && found.value.length) at.value = (at.value + step + found.value.length) % found.value.length;
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="field">
        <input
          type="text"
          role="combobox"
          aria-label="Name of a server, channel or person"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.value.length ? `${id}-${at.value}` : undefined}
          autofocus
          value={text.value}
          onKeyDown={onKeyDown}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            at.value = 0;
          }}
        />
      </div>
      <ul id={id} class="switcher" role="listbox" aria-label="Places">
        {found.value.map((target, index) => (
          // The text field keeps the focus and handles the keys.
          <li key={target.path} id={`${id}-${index}`} role="option" aria-selected={index === at.value} onClick={() => go(target)}>
            <bdi>{target.name}</bdi> <span class="hint">{target.where}</span>
          </li>
        ))}
      </ul>
      {found.value.length === 0 && <p class="soft">Nothing has that name.</p>}
    </Dialog>
  );
}

function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {shortcuts.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Listens to the shortcuts of the client and shows the dialogs that they open. */
export function Shortcuts(): JSX.Element | null {
  const { path, route } = useLocation();
  useEffect(() => {
    const hear = (event: KeyboardEvent): void => onShortcut(event, path, route);
    addEventListener('keydown', hear);
    return () => removeEventListener('keydown', hear);
  }, [path]);
  const close = (): void => {
    overPage.value = null;
  };
  if (overPage.value === 'switcher') return <Switcher onClose={close} />;
  return overPage.value === 'help' ? <Help onClose={close} /> : null;
}
