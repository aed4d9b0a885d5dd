import { Timer } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import { leafTokens, parseMarkup } from '../../../../lib/base/markup.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { skipsSlowmode } from '../../state/outgoing.ts';
import { may } from '../../state/rights.ts';
import { cooldownEnds, cooldownLeftMs } from '../../state/slowmode.ts';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { Icon } from '../../ui/icon.tsx';
import { spanOf } from '../../ui/times.ts';
import { type ChannelContext, isSystemDm } from '../channel-context.ts';
import type { CommandLineError } from './composer-drafts.ts';

/** Returns how many seconds of the user's slow mode cooldown in a channel are left, and rerenders the component every second. */
export function useCooldownSeconds({ channelId }: ChannelContext): number {
  const [, tick] = useState(0);
  const end = cooldownEnds.value.get(channelId);
  const leftMs = end ? cooldownLeftMs(end) : 0;
  useEffect(() => {
    if (leftMs <= 0) return undefined;
    // Rerender when the number of whole seconds changes.
    const next = setTimeout(() => tick((count) => count + 1), (leftMs % 1000) + 5);
    return () => clearTimeout(next);
  });
  return Math.max(0, Math.ceil(leftMs / 1000));
}

/** Shows that slow mode is on in a channel, and the rest of the cooldown; shows nothing without slow mode. */
export function SlowModeNote({ context, secondsLeft }: { context: ChannelContext; secondsLeft: number }): JSX.Element | null {
  const intervalSecs = context.channel?.slowmodeSecs ?? 0;
  if (intervalSecs === 0 && secondsLeft === 0) return null;
  const about =
    secondsLeft > 0
      ? `Slow mode: you can send a message in ${secondsLeft} s`
      : skipsSlowmode(context.channelId)
        ? `Slow mode: ${spanOf(intervalSecs)} between messages (doesn’t apply to you)`
        : `Slow mode: ${spanOf(intervalSecs)} between messages`;
  return (
    <span class="composer-slow">
      <Icon of={Timer} size="1em" /> {about}
    </span>
  );
}

/** Says that `@everyone` and `@here` in a content will notify nobody, because the user has not the permission or writes a direct message. */
export function EveryoneNote({
  context: { serverId, channel },
  content,
}: {
  context: ChannelContext;
  content: string;
}): JSX.Element | null {
  if (!content.includes('@') || may('Mention Everyone', serverId, channel)) return null;
  const everyone = [...leafTokens(parseMarkup(content))].find(({ type }) => type === 'everyone');
  if (everyone?.type !== 'everyone') return null;
  return (
    <span role="status">
      @{everyone.kind} will notify nobody:{' '}
      {serverId === null ? 'this is a direct message' : 'you don’t have the permission “Mention Everyone” here'}
    </span>
  );
}

/** The counter is shown when at most this many characters are left. */
const shownFrom = 200;

/** Shows how many characters are left, near the limit, or how many are too many. */
export function Counter({ length }: { length: number }): JSX.Element | null {
  const left = limits.messageChars - length;
  if (left > shownFrom) return null;
  return (
    <span class={`composer-count ${left < 0 ? 'bad' : ''}`} role="status">
      {left < 0 ? `${countOf(-left, 'character')} too many` : `${countOf(left, 'character')} left`}
    </span>
  );
}

/** Explains why the user cannot write here. */
export function CannotWrite({ context }: { context: ChannelContext }): JSX.Element {
  if (isSystemDm(context)) return <p class="composer-note">You can’t reply to messages from Parlance.</p>;
  return (
    <p class="composer-note">
      You don’t have permission to send messages in <bdi>{context.name}</bdi>.
    </p>
  );
}

/** Explains that a message in an archived thread unarchives it; shows nothing elsewhere. */
export function ArchivedNote({ context }: { context: ChannelContext }): JSX.Element | null {
  return context.channel?.archived ? <p class="composer-note">This thread is archived. A new message restores it.</p> : null;
}

/** Explains why a typed command was not sent, and offers what can be done. */
export function CommandErrorNote({
  error,
  onCommand,
  onMessage,
}: {
  error: CommandLineError | null;
  onCommand: (command: PickerCommand) => void;
  onMessage: () => void;
}): JSX.Element | null {
  switch (error?.kind) {
    case undefined:
      return null;
    case 'refused':
      return <ErrorNotice error={error.error} />;
    case 'unknown':
      return (
        <div class="composer-note" role="alert">
          <p>This channel has no command /{error.name}.</p>
          <Button onClick={onMessage}>Send as message</Button>
        </div>
      );
    case 'several':
      return (
        <div class="composer-note" role="alert">
          <p>Several apps have this command. Choose one:</p>
          {error.commands.map((command) => (
            <Button key={command.id} onClick={() => onCommand(command)}>
              {command.application.name}
            </Button>
          ))}
        </div>
      );
    default:
      return error satisfies never;
  }
}
