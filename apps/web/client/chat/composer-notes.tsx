import { Timer } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { skipsSlowmode } from '../../state/outgoing.ts';
import { slowUntil } from '../../state/slowmode.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Problem } from '../../ui/problem.tsx';
import { spanOf } from '../../ui/times.ts';
import { isNoticePlace, type Place } from '../place.ts';
import type { LineFault } from './composer-drafts.ts';

/** How many whole seconds are left until a moment of this page's clock; counts down by itself. */
export function useSecondsUntil(until: number): number {
  const [, tick] = useState(0);
  const leftMs = until - Date.now();
  useEffect(() => {
    if (leftMs <= 0) return undefined;
    // Ticks as the whole seconds change.
    const next = setTimeout(() => tick((count) => count + 1), (leftMs % 1000) + 5);
    return () => clearTimeout(next);
  });
  return Math.max(0, Math.ceil(leftMs / 1000));
}

/** How many seconds slow mode still keeps the person from writing in a place. */
export const useSlowSeconds = ({ channelId }: Place): number => useSecondsUntil(slowUntil.value.get(channelId) ?? 0);

/** That slow mode is on in a place, and how long it still takes; nothing where it is off. */
export function SlowNote({ place, secondsLeft }: { place: Place; secondsLeft: number }): JSX.Element | null {
  const spacing = place.channel?.slowmodeSecs ?? 0;
  if (spacing === 0 && secondsLeft === 0) return null;
  const about =
    secondsLeft > 0
      ? `You can write again in ${secondsLeft} s`
      : skipsSlowmode(place.channelId)
        ? `Slow mode: ${spanOf(spacing)}. It does not apply to you.`
        : `Slow mode: ${spanOf(spacing)} between messages`;
  return (
    <span class="composer-slow">
      <Icon of={Timer} size="1em" /> {about}
    </span>
  );
}

/** From how many characters left on the count is shown. */
const countFrom = 200;

/** How many characters are left, near the end; how many are too many past it. */
export function Counter({ length }: { length: number }): JSX.Element | null {
  const left = limits.messageChars - length;
  if (left > countFrom) return null;
  return (
    <span class={`composer-count ${left < 0 ? 'bad' : ''}`} role="status">
      {left < 0 ? `${-left} characters too many` : `${left} left`}
    </span>
  );
}

/** Why someone cannot write in a place, in words. */
export function CannotWrite({ place }: { place: Place }): JSX.Element {
  if (isNoticePlace(place)) return <p class="composer-note">You can’t reply to messages from Parlance.</p>;
  return (
    <p class="composer-note">
      You can read but not write here. You need the permission Send Messages in <bdi>{place.name}</bdi>.
    </p>
  );
}

/** That writing in a thread brings it back; nothing elsewhere. */
export function ArchivedNote({ place }: { place: Place }): JSX.Element | null {
  return place.channel?.archived ? <p class="composer-note">This thread is archived. Writing in it brings it back.</p> : null;
}

/** Why a command that was typed was not sent, and what can be done about it. */
export function LineNote({
  fault,
  onCommand,
  onMessage,
}: {
  fault: LineFault | null;
  onCommand: (command: PickerCommand) => void;
  onMessage: () => void;
}): JSX.Element | null {
  switch (fault?.kind) {
    case undefined:
      return null;
    case 'refused':
      return <Problem error={fault.error} />;
    case 'unknown':
      return (
        <div class="composer-note" role="alert">
          <p>This channel has no command /{fault.name}.</p>
          <Button onClick={onMessage}>Send as a message</Button>
        </div>
      );
    case 'several':
      return (
        <div class="composer-note" role="alert">
          <p>Several apps have this command. Choose one:</p>
          {fault.commands.map((command) => (
            <Button key={command.id} onClick={() => onCommand(command)}>
              {command.application.name}
            </Button>
          ))}
        </div>
      );
    default:
      return fault satisfies never;
  }
}
