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

/** Returns the whole seconds left until a time of this page's clock, and rerenders the component every second. */
export function useSecondsUntil(until: number): number {
  const [, tick] = useState(0);
  const leftMs = until - Date.now();
  useEffect(() => {
    if (leftMs <= 0) return undefined;
    // Rerender when the number of whole seconds changes.
    const next = setTimeout(() => tick((count) => count + 1), (leftMs % 1000) + 5);
    return () => clearTimeout(next);
  });
  return Math.max(0, Math.ceil(leftMs / 1000));
}

/** Returns how many seconds of the user's slow mode cooldown in a channel are left. */
export const useSlowSeconds = ({ channelId }: Place): number => useSecondsUntil(slowUntil.value.get(channelId) ?? 0);

/** Shows that slow mode is on in a channel, and the rest of the cooldown; shows nothing without slow mode. */
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

/** The counter is shown when at most this many characters are left. */
const countFrom = 200;

/** Shows how many characters are left, near the limit, or how many are too many. */
export function Counter({ length }: { length: number }): JSX.Element | null {
  const left = limits.messageChars - length;
  if (left > countFrom) return null;
  return (
    <span class={`composer-count ${left < 0 ? 'bad' : ''}`} role="status">
      {left < 0 ? `${-left} characters too many` : `${left} left`}
    </span>
  );
}

/** Explains why the user cannot write here. */
export function CannotWrite({ place }: { place: Place }): JSX.Element {
  if (isNoticePlace(place)) return <p class="composer-note">You can’t reply to messages from Parlance.</p>;
  return (
    <p class="composer-note">
      You can read but not write here. You need the permission Send Messages in <bdi>{place.name}</bdi>.
    </p>
  );
}

/** Explains that a message in an archived thread unarchives it; shows nothing elsewhere. */
export function ArchivedNote({ place }: { place: Place }): JSX.Element | null {
  return place.channel?.archived ? <p class="composer-note">This thread is archived. Writing in it brings it back.</p> : null;
}

/** Explains why a typed command was not sent, and offers what can be done. */
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
