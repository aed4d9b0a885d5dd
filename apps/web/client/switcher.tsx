import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { foldSearch } from '../../../lib/base/text.ts';
import { dms } from '../state/dms.ts';
import { isUnread, mentionsIn } from '../state/reads.ts';
import { servers } from '../state/servers.ts';
import { Dialog } from '../ui/dialog.tsx';
import { askToLeave } from '../ui/unsaved.tsx';
import { holdsMessages, pathOf } from './channel-context.ts';
import { sideOpen } from './page.tsx';
import { onShortcut, openDialog, shortcuts } from './shortcuts.ts';

interface SwitcherEntry {
  path: string;
  name: string;
  where: string;
  rank: number;
}

/** The maximum number of results. */
const maxResults = 12;

/**
 * Returns the DMs, servers and channels whose own name or server name contains `text`: first those with mentions, then unread ones, then those whose name
 * begins with `text`.
 */
function findEntries(text: string): SwitcherEntry[] {
  const query = foldSearch(text.trim());
  const rank = (id: string, name: string): number =>
    (mentionsIn(id) ? 4 : 0) + (isUnread(id) ? 2 : 0) + (foldSearch(name).startsWith(query) ? 1 : 0);
  const all: SwitcherEntry[] = [
    ...dms.value.map(({ id, recipient: { displayName } }) => ({
      path: `/dms/${id}`,
      name: displayName,
      where: 'Direct message',
      rank: rank(id, displayName),
    })),
    ...[...servers.value.values()].flatMap((server) => [
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
    .filter(({ name, where }) => foldSearch(`${name} ${where}`).includes(query))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, maxResults);
}

/** The dialog to go to a DM, server or channel by name. */
function Switcher({ onClose }: { onClose: () => void }): JSX.Element {
  const text = useSignal('');
  const selected = useSignal(0);
  const results = useComputed(() => findEntries(text.value));
  const { route } = useLocation();
  const id = useId();
  const go = (target: SwitcherEntry | undefined): void => {
    if (!target) return;
    onClose();
    sideOpen.value = false;
    askToLeave(() => route(target.path));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(results.value[selected.value]);
    else if (step && results.value.length) selected.value = (selected.value + step + results.value.length) % results.value.length;
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Quick switcher" onClose={onClose}>
      <div class="field">
        <input
          type="text"
          dir="auto"
          role="combobox"
          aria-label="Search servers, channels and people"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={results.value.length ? `${id}-${selected.value}` : undefined}
          autofocus
          value={text.value}
          onKeyDown={onKeyDown}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            selected.value = 0;
          }}
        />
      </div>
      <ul id={id} class="switcher" role="listbox" aria-label="Results">
        {results.value.map((target, index) => (
          // The text field keeps the focus and handles the keys.
          <li key={target.path} id={`${id}-${index}`} role="option" aria-selected={index === selected.value} onClick={() => go(target)}>
            <bdi>{target.name}</bdi> <span class="hint">{target.where}</span>
          </li>
        ))}
      </ul>
      {results.value.length === 0 && <p class="soft">No results found.</p>}
    </Dialog>
  );
}

function ShortcutHelp({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {shortcuts.map(({ keys, description }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{description}</dd>
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
    const onKeyDown = (event: KeyboardEvent): void => onShortcut(event, path, route);
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [path]);
  const close = (): void => {
    openDialog.value = null;
  };
  if (openDialog.value === 'switcher') return <Switcher onClose={close} />;
  return openDialog.value === 'help' ? <ShortcutHelp onClose={close} /> : null;
}
