import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { truncate } from '../../../../lib/base/text.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { myId } from '../../state/session.ts';
import { plainText } from './markup-text.ts';
import { indexAfter } from './slice.ts';

/** The limits of one announcement. When more messages arrive, only their number is announced. */
const max = { messages: 3, chars: 300, lines: 6 };
/** The minimum interval between two announcements, in milliseconds, so that a burst is announced once. */
const intervalMs = 1_500;

/**
 * Announces new messages to a screen reader: author and text. It is a separate live region, because the list itself also changes when the user scrolls.
 * Existing messages and the user's own are not announced.
 */
export function Announcer({
  messages,
  live,
  serverId,
}: {
  messages: readonly Message[];
  /** Whether `messages` includes the newest one. Messages that are loaded while the user looks at old ones are not new. */
  live: boolean;
  serverId: string | null;
}): JSX.Element {
  const lines = useSignal<readonly { key: string; text: string }[]>([]);
  const lastAnnounced = useRef<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(messages);
  latest.current = messages;
  const newest = messages.at(-1)?.id ?? null;
  const announce = (): void => {
    timer.current = undefined;
    if (lastAnnounced.current === null) return;
    const fresh = latest.current.slice(indexAfter(latest.current, lastAnnounced.current)).filter(({ author }) => author.id !== myId());
    lastAnnounced.current = latest.current.at(-1)?.id ?? lastAnnounced.current;
    const added =
      fresh.length > max.messages
        ? [{ key: lastAnnounced.current, text: `${fresh.length} new messages` }]
        : fresh.map(({ id, author, content }) => ({
            key: id,
            text: `${author.displayName}: ${truncate(plainText(content, serverId), max.chars) || 'attachment or embed'}`,
          }));
    if (added.length) lines.value = [...lines.value, ...added].slice(-max.lines);
  };
  useEffect(() => {
    if (!live || lastAnnounced.current === null) lastAnnounced.current = live ? newest : null;
    else if (newest !== lastAnnounced.current) timer.current ??= setTimeout(announce, intervalMs);
  }, [newest, live]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div class="visually-hidden" role="log" aria-label="New messages">
      {lines.value.map(({ key, text }) => (
        <p key={key}>{text}</p>
      ))}
    </div>
  );
}
