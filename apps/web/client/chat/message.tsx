import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import type { Place } from '../place.ts';

/** One message as people see it. */
export function MessageView({ message }: { message: Message; place: Place }): JSX.Element {
  const { author } = message;
  return (
    <article class="message" id={`message-${message.id}`}>
      <Avatar id={author.id} name={author.displayName} url={author.avatarUrl} />
      <div>
        <p>
          <strong>{author.displayName}</strong> <time dateTime={message.createdAt}>{shortMomentOf(message.createdAt)}</time>
        </p>
        <p>{message.content}</p>
      </div>
    </article>
  );
}
