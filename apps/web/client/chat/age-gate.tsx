import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { keep, keptWords } from '../../ui/kept.ts';
import { type Place, pathOf } from '../place.ts';

const key = 'parlance.adult';

/** The age-restricted channels that the user confirmed to enter in this browser session. */
const entered = signal<readonly string[]>(keptWords(key, 'sessionStorage'));

/** Whether the user confirmed to enter a channel in this browser session. */
export const isEntered = (channelId: string): boolean => entered.value.includes(channelId);

function enter(channelId: string): void {
  entered.value = [...entered.value, channelId];
  keep(key, entered.value.join(' '), 'sessionStorage');
}

/** The confirmation shown in place of the messages of an age-restricted channel, once per browser session. */
export function AgeGate({ place }: { place: Place }): JSX.Element {
  return (
    <div class="age-gate">
      <p class="age-mark" aria-hidden="true">
        18+
      </p>
      <h2>
        <bdi>{place.name}</bdi> is for adults
      </h2>
      <p>Its content may not be suitable for people under 18.</p>
      <div class="actions">
        <a class="button plain" href={place.serverId ? `/servers/${place.serverId}` : pathOf(place.channelId)}>
          Go back
        </a>
        <Button look="main" onClick={() => enter(place.channelId)}>
          I am 18 or older: show it
        </Button>
      </div>
    </div>
  );
}
