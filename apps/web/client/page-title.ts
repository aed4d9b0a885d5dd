import { computed, effect, signal } from '@preact/signals';
import { dms } from '../state/dms.ts';
import { isUnread, mentionsIn, reads } from '../state/reads.ts';
import { channels } from '../state/servers.ts';

/** What the page shows, as its heading says. */
export const heading = signal('');

/** How many unread direct messages and mentions wait for the person: each unread conversation counts once, a channel with each mention. */
export const waitingCount = computed(() => {
  const unreadDms = dms.value.filter(({ id }) => isUnread(id)).length;
  return [...reads.value.keys()].reduce((sum, id) => sum + (channels.value.has(id) ? mentionsIn(id) : 0), unreadDms);
});

/** Keeps the title of the browser's tab: what waits, and what the page shows. Returns what ends it. */
export const keepTitle = (): (() => void) =>
  effect(() => {
    const count = waitingCount.value ? `(${waitingCount.value}) ` : '';
    document.title = `${count}${heading.value ? `${heading.value} · ` : ''}Parlance`;
  });
