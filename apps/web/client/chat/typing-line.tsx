import type { JSX } from 'preact';
import { userOf } from '../../state/people.ts';
import { typing } from '../../state/typing.ts';

/** Returns the sentence about the users that are typing. More than three are not named. */
function sentence(names: readonly string[]): string {
  const [first, second, third] = names;
  if (names.length > 3) return 'Several people are typing…';
  if (third !== undefined) return `${first}, ${second} and ${third} are typing…`;
  return second === undefined ? `${first} is typing…` : `${first} and ${second} are typing…`;
}

/** Shows who is typing in a channel. It is not announced to screen readers, because it changes too often. */
export function TypingLine({ channelId }: { channelId: string }): JSX.Element {
  const ids = [...(typing.value.get(channelId)?.keys() ?? [])];
  return (
    <p class="typing-line soft">
      {ids.length > 0 && (
        <>
          <span class="typing-dots" aria-hidden="true" />
          <bdi>{sentence(ids.map((id) => userOf(id)?.displayName ?? 'Someone'))}</bdi>
        </>
      )}
    </p>
  );
}
