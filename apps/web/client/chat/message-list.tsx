import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { historyOf, loadNewest } from '../../state/histories.ts';
import { markRead } from '../../state/reads.ts';
import type { Place } from '../place.ts';
import { MessageView } from './message.tsx';

/** The messages of a place. */
export function MessageList({ place }: { place: Place; jumpTo: string | undefined }): JSX.Element {
  const history = historyOf(place.channelId);
  useEffect(() => {
    void loadNewest(place.channelId)
      .then(() => markRead(place.channelId))
      .catch(() => undefined);
  }, [place.channelId]);
  return (
    <div class="message-list scroll">
      {history.messages.value.map((message) => (
        <MessageView key={message.id} message={message} place={place} />
      ))}
    </div>
  );
}
