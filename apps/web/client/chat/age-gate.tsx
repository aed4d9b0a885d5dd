import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { readStoredWords, writeStored } from '../../ui/browser-storage.ts';
import { Button } from '../../ui/button.tsx';
import { type ChannelContext, pathOf } from '../channel-context.ts';

const key = 'parlance.adult';

/** The age-restricted channels that the user confirmed to enter in this browser session. */
const confirmedChannels = signal<readonly string[]>(readStoredWords(key, 'sessionStorage'));

/** Whether the user confirmed to enter a channel in this browser session. */
export const isAgeConfirmed = (channelId: string): boolean => confirmedChannels.value.includes(channelId);

function confirmAge(channelId: string): void {
  confirmedChannels.value = [...confirmedChannels.value, channelId];
  writeStored(key, confirmedChannels.value.join(' '), 'sessionStorage');
}

/** The confirmation shown in place of the messages of an age-restricted channel, once per browser session. */
export function AgeGate({ context }: { context: ChannelContext }): JSX.Element {
  return (
    <div class="age-gate">
      <p class="age-mark" aria-hidden="true">
        18+
      </p>
      <h2>
        <bdi>{context.name}</bdi> is age-restricted
      </h2>
      <p>This channel may contain content that is not suitable for people under 18.</p>
      <div class="actions">
        <a class="button plain" href={context.serverId ? `/servers/${context.serverId}` : pathOf(context.channelId)}>
          Go back
        </a>
        <Button variant="main" onClick={() => confirmAge(context.channelId)}>
          I’m 18 or older
        </Button>
      </div>
    </div>
  );
}
