import { signal } from '@preact/signals';
import { dms } from '../state/dms.ts';
import { isUnread } from '../state/reads.ts';
import { servers } from '../state/servers.ts';
import { askToLeave } from '../ui/unsaved.tsx';
import { holdsMessages, orderedChannels, pathOf } from './channel-context.ts';

/** The dialog that a shortcut opened. */
export const openDialog = signal<'switcher' | 'help' | null>(null);

/** All shortcuts of the client, as the help lists them. */
export const shortcuts: readonly { keys: string; description: string }[] = [
  { keys: 'Ctrl+K', description: 'Open the quick switcher' },
  { keys: 'Alt+↑ / Alt+↓', description: 'Previous / next channel' },
  { keys: 'Alt+Shift+↑ / Alt+Shift+↓', description: 'Previous / next unread channel' },
  { keys: '↑', description: 'Edit your last message (in an empty message field)' },
  { keys: 'Enter / Shift+Enter', description: 'Send the message / start a new line' },
  { keys: '/', description: 'Use a slash command (in an empty message field)' },
  { keys: 'Escape', description: 'Close a dialog or panel, or cancel a reply or edit' },
  { keys: 'Ctrl+/', description: 'Show keyboard shortcuts' },
];

/** Returns the ids of the channels or DMs in the list at the side, in its order. */
function listedChannels(path: string): string[] {
  const serverId = /^\/servers\/(\d+)/.exec(path)?.[1];
  if (!serverId || !servers.value.has(serverId)) return dms.value.map(({ id }) => id);
  const { top, categories, threads } = orderedChannels(serverId);
  return [...top, ...categories.flatMap((one) => one.channels)]
    .flatMap((channel) => [channel, ...(threads.get(channel.id) ?? [])])
    .filter(holdsMessages)
    .map(({ id }) => id);
}

/**
 * Returns the id of the channel or DM `by` steps from the one in `path`, continuing at the other end of the list; with `unread` the next unread one.
 * undefined when there is none.
 */
function adjacentChannel(path: string, by: 1 | -1, unread: boolean): string | undefined {
  const all = listedChannels(path);
  const at = all.findIndex((id) => path.endsWith(id));
  for (let step = 1; step <= all.length; step++) {
    const id = all[(at + by * step + all.length * 2) % all.length];
    if (id !== undefined && (!unread || isUnread(id))) return id;
  }
  return undefined;
}

/** Handles a key press that may be a shortcut. `path` is the current path; `route` opens another. */
export function onShortcut(event: KeyboardEvent, path: string, route: (path: string) => void): void {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
  if ((ctrlKey || metaKey) && !altKey && (key === 'k' || key === '/')) {
    event.preventDefault();
    openDialog.value = key === 'k' ? 'switcher' : 'help';
  } else if (altKey && !ctrlKey && !metaKey && (key === 'ArrowUp' || key === 'ArrowDown')) {
    event.preventDefault();
    const id = adjacentChannel(path, key === 'ArrowDown' ? 1 : -1, shiftKey);
    if (id !== undefined) askToLeave(() => route(pathOf(id)));
  }
}
