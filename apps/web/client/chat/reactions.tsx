import { useSignal } from '@preact/signals';
import { SmilePlus } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import type { UserSummary } from '../../../../lib/contract/user.ts';
import { call, path } from '../../api/call.ts';
import { IconButton } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { customEmojiText } from './markup-text.ts';
import { openTool, setReaction } from './message-tools.ts';
import './reactions.css';

/** Returns how the emoji of a reaction is shown: a custom one by its name. */
export const emojiText = (emoji: string): string => (/^\w+:\d+$/.test(emoji) ? customEmojiText(emoji.replace(/:.*/, '')) : emoji);

const namesShown = 10;
/** How long the pointer rests on a reaction before the page loads who reacted, in milliseconds. */
const hoverMs = 250;

function reactorsText(people: readonly UserSummary[], count: number): string {
  const names = people.slice(0, namesShown).map(({ displayName }) => `\u2068${displayName}\u2069`);
  const others = count - names.length;
  return names.join(', ') + (others > 0 ? ` and ${others} more` : '');
}

/** The reactions of a message: each is a toggle button with its count. Hover and focus show who reacted. */
export function Reactions({ message, mayAdd }: { message: Message; mayAdd: boolean }): JSX.Element | null {
  if (!message.reactions.length) return null;
  const hasRoom = message.reactions.length < limits.reactionsPerMessage;
  return (
    <ul class="reactions" aria-label="Reactions">
      {message.reactions.map((reaction) => (
        <li key={reaction.emoji}>
          <Reaction message={message} {...reaction} />
        </li>
      ))}
      {mayAdd && hasRoom && (
        <li>
          <IconButton
            of={SmilePlus}
            label="Add reaction"
            aria-haspopup="dialog"
            onClick={({ currentTarget }) => (openTool.value = { kind: 'react', message, anchor: currentTarget })}
          />
        </li>
      )}
    </ul>
  );
}

function Reaction({ message, emoji, count, me }: { message: Message; emoji: string; count: number; me: boolean }): JSX.Element {
  const isHovered = useSignal(false);
  const reactors = useSignal<string | null>(null);
  useEffect(() => {
    if (!isHovered.value) {
      reactors.value = null;
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<UserSummary[]>('GET', path`/api/channels/${message.channelId}/messages/${message.id}/reactions/${emoji}`, undefined, {
        signal: stop.signal,
      }).then(
        (people) => {
          reactors.value = reactorsText(people, count);
        },
        () => undefined,
      );
    }, hoverMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [isHovered.value, count]);
  const setHovered = (on: boolean) => (): void => {
    isHovered.value = on;
  };
  return (
    <button
      type="button"
      class="reaction"
      aria-pressed={me}
      aria-label={`${emojiText(emoji)}, ${countOf(count, 'reaction')}`}
      aria-description={reactors.value ?? undefined}
      onPointerEnter={setHovered(true)}
      onPointerLeave={setHovered(false)}
      onFocus={setHovered(true)}
      onBlur={setHovered(false)}
      onClick={() => setReaction(message, emoji, !me)}
    >
      <span class="reaction-emoji">{emojiText(emoji)}</span> {count}
      {reactors.value && (
        <span class="reaction-who" aria-hidden="true">
          {reactors.value}
        </span>
      )}
    </button>
  );
}
