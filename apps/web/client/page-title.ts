import { computed, effect, signal } from '@preact/signals';
import { dms } from '../state/dms.ts';
import { isUnread, mentionsIn, reads } from '../state/reads.ts';
import { channels } from '../state/servers.ts';

/** The heading of the current page. */
export const heading = signal('');

/** The number in the page title: the number of unread DM conversations, plus the number of unread mentions in channels. */
export const waitingCount = computed(() => {
  const unreadDms = dms.value.filter(({ id }) => isUnread(id)).length;
  return [...reads.value.keys()].reduce((sum, id) => sum + (channels.value.has(id) ? mentionsIn(id) : 0), unreadDms);
});

/** Keeps the title of the browser tab up to date: the unread count and the page's heading. Returns a function that stops it. */
export const keepTitle = (): (() => void) =>
  effect(() => {
    const count = waitingCount.value ? `(${waitingCount.value}) ` : '';
    document.title = `${count}${heading.value ? `${heading.value} · ` : ''}Parlance`;
  });
