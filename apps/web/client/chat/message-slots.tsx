import { CircleAlert } from 'lucide';
import type { JSX } from 'preact';
import type { ApiError } from '../../api/call.ts';
import { discard, type Outgoing, sendAgain } from '../../state/outgoing.ts';
import { me } from '../../state/session.ts';
import { dismissUse, type Use } from '../../state/uses.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { plainName } from '../../ui/hostile-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { Problem } from '../../ui/problem.tsx';
import { sizeText } from './attachment.tsx';
import { takeBack } from './composer-sending.ts';
import { Markup } from './markup.tsx';

/** Whether the message is certainly not stored, so that it can be edited and sent as a new one. */
const isRefused = (error: ApiError | null): boolean => error !== null && [400, 403, 404, 413].includes(error.status);

/** A message that is being sent, in gray. A failed one shows the API's error and can be sent again, edited or discarded. */
export function OutgoingView({ one, serverId }: { one: Outgoing; serverId: string | null }): JSX.Element | null {
  const own = me.value;
  if (!own) return null;
  const { key, content, files, state, progress, error, replyTo } = one;
  return (
    <article
      class={`message outgoing ${state}`}
      tabIndex={-1}
      aria-label={state === 'failed' ? 'Your message, not sent' : 'Your message, being sent'}
    >
      {replyTo && (
        <p class="reply-line">
          in reply to <bdi>{replyTo.author.displayName}</bdi>
        </p>
      )}
      <span class="message-avatar">
        <Avatar id={own.id} name={own.displayName} url={own.avatarUrl} />
      </span>
      <div class="message-main">
        <p class="author-line">
          <strong>
            <bdi>{own.displayName}</bdi>
          </strong>{' '}
          <span class="hint">{state === 'failed' ? 'not sent' : state === 'waiting' ? 'waiting …' : 'sending …'}</span>
        </p>
        {content !== '' && <Markup content={content} serverId={serverId} />}
        {files.length > 0 && (
          <ul class="outgoing-files">
            {files.map((file, index) => (
              <li key={index}>
                <bdi>{plainName(file.name)}</bdi> <span class="hint">{sizeText(file.size)}</span>
              </li>
            ))}
          </ul>
        )}
        {files.length > 0 && state === 'sending' && <progress aria-label="Files sent" max={1} value={progress} />}
        {state === 'failed' && (
          <>
            <Problem error={error} />
            <div class="outgoing-ways">
              <Button onClick={() => sendAgain(key)}>Send again</Button>
              {isRefused(error) && <Button onClick={() => takeBack(one, serverId)}>Edit</Button>}
              <Button look="quiet" onClick={() => discard(key)}>
                Discard
              </Button>
            </div>
          </>
        )}
        {state !== 'failed' && files.length > 0 && (
          <div class="outgoing-ways">
            <Button look="quiet" onClick={() => discard(key)}>
              Stop
            </Button>
          </div>
        )}
      </div>
    </article>
  );
}

const useTexts: Record<Use['state'], (bot: string) => string> = {
  created: (bot) => `Waiting for ${bot} …`,
  deferred: (bot) => `${bot} is thinking …`,
  expired: (bot) => `${bot} did not respond.`,
  answered: (bot) => `${bot} answered.`,
};

/** A slash command whose response is not on the screen yet. */
export function UseView({ use: { id, command, bot, state } }: { use: Use }): JSX.Element {
  return (
    <div class={`use-slot ${state}`}>
      {state === 'expired' ? <Icon of={CircleAlert} /> : <span class="dots" aria-hidden="true" />}
      <p>
        <strong>/{command}</strong> · <bdi>{useTexts[state](bot)}</bdi> <span class="hint">Only you can see this.</span>
      </p>
      {state === 'expired' && (
        <Button look="quiet" onClick={() => dismissUse(id)}>
          Dismiss
        </Button>
      )}
    </div>
  );
}
