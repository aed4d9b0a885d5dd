import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { type Place, pathOf } from '../place.ts';

const key = 'parlance.adult';

function kept(): string[] {
  try {
    return (sessionStorage.getItem(key) ?? '').split(' ').filter(Boolean);
  } catch {
    return [];
  }
}

/** The age-restricted channels that the person entered in this session. */
const entered = signal<readonly string[]>(kept());

/** Whether a channel's gate was passed in this session of the browser. */
export const isEntered = (channelId: string): boolean => entered.value.includes(channelId);

function enter(channelId: string): void {
  entered.value = [...entered.value, channelId];
  try {
    sessionStorage.setItem(key, entered.value.join(' '));
  } catch {
    // Then it is asked again when the page is loaded anew.
  }
}

/** Stands before the messages of an age-restricted channel, once a session. */
export function AgeGate({ place }: { place: Place }): JSX.Element {
  return (
    <div class="age-gate">
      <p class="age-mark" aria-hidden="true">
        18+
      </p>
      <h2>
        <bdi>{place.name}</bdi> is for adults
      </h2>
      <p>What is posted here may not be fit for people under 18.</p>
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
