import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { send } from '../../state/outgoing.ts';
import { Button } from '../../ui/button.tsx';
import { mayWrite, type Place } from '../place.ts';

/** Where the person writes. */
export function Composer({ place }: { place: Place }): JSX.Element {
  const text = useSignal('');
  if (!mayWrite(place)) return <p class="composer soft">You cannot write here.</p>;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (text.value.trim() === '') return;
    send(place.channelId, { content: text.value, files: [], replyTo: null, mentionReply: true });
    text.value = '';
  };
  return (
    <form class="composer" onSubmit={submit}>
      <textarea
        aria-label={`Message ${place.name}`}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <Button type="submit">Send</Button>
    </form>
  );
}
