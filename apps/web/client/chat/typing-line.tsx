import type { JSX } from 'preact';
import { faceOf } from '../../state/people.ts';
import { typing } from '../../state/typing.ts';

/** What is said of those who type: the first three by name. */
function sentence(names: readonly string[]): string {
  const [first, second, third] = names;
  if (names.length > 3) return 'Several people are typing …';
  if (third !== undefined) return `${first}, ${second} and ${third} are typing …`;
  return second === undefined ? `${first} is typing …` : `${first} and ${second} are typing …`;
}

/** Who types in a channel just now. Nothing is said aloud: it changes too often to be listened to. */
export function TypingLine({ channelId }: { channelId: string }): JSX.Element {
  const ids = [...(typing.value.get(channelId)?.keys() ?? [])];
  return (
    <p class="typing-line soft">
      {ids.length > 0 && (
        <>
          <span class="typing-dots" aria-hidden="true" />
          <bdi>{sentence(ids.map((id) => faceOf(id)?.displayName ?? 'Someone'))}</bdi>
        </>
      )}
    </p>
  );
}
