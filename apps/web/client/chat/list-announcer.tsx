import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { cut } from '../../../../lib/base/text.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { myId } from '../../state/session.ts';
import { plainText } from './markup-text.ts';
import { indexAfter } from './slice.ts';

/** What is said at once at most; more is told by its number. */
const most = { messages: 3, chars: 300, lines: 6 };
/** Between two sayings, in milliseconds: a burst is one. */
const everyMs = 1_500;

/**
 * Tells a screen reader what arrives: who wrote, and what. A log of its own, as the list itself also changes when someone only scrolls.
 * What was there before, and what the person wrote, is not told.
 */
export function Announcer({
  messages,
  live,
  serverId,
}: {
  messages: readonly Message[];
  /** Whether `messages` reaches the newest: what is read while someone looks at old ones is not news. */
  live: boolean;
  serverId: string | null;
}): JSX.Element {
  const lines = useSignal<readonly { key: string; text: string }[]>([]);
  const told = useRef<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(messages);
  latest.current = messages;
  const newest = messages.at(-1)?.id ?? null;
  const tell = (): void => {
    timer.current = undefined;
    if (told.current === null) return;
    const fresh = latest.current.slice(indexAfter(latest.current, told.current)).filter(({ author }) => author.id !== myId());
    told.current = latest.current.at(-1)?.id ?? told.current;
    const added =
      fresh.length > most.messages
        ? [{ key: told.current, text: `${fresh.length} new messages` }]
        : fresh.map(({ id, author, content }) => ({
            key: id,
            text: `${author.displayName}: ${cut(plainText(content, serverId), most.chars) || 'files or embeds'}`,
          }));
    if (added.length) lines.value = [...lines.value, ...added].slice(-most.lines);
  };
  useEffect(() => {
    if (!live || told.current === null) told.current = live ? newest : null;
    else if (newest !== told.current) timer.current ??= setTimeout(tell, everyMs);
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
