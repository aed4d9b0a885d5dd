import { CircleAlert } from 'lucide';
import type { JSX } from 'preact';
import type { ApiError } from '../../api/call.ts';
import { discard, type Outgoing, sendAgain } from '../../state/outgoing.ts';
import { dismissCommand, type PendingCommand } from '../../state/pending-commands.ts';
import { me } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { Icon } from '../../ui/icon.tsx';
import { safeFileName } from '../../ui/safe-text.ts';
import { sizeOf } from '../../ui/sizes.ts';
import { moveToComposer } from './composer-sending.ts';
import { Markup } from './markup.tsx';

/** Whether the message is certainly not stored, so that it can be edited and sent as a new one. */
const isRefused = (error: ApiError | null): boolean => error !== null && [400, 403, 404, 413].includes(error.status);

/** What becomes of a message: the text beside its author, and its name for a screen reader. */
function fateOf({ state, resends }: Outgoing): { text: string; label: string } {
  if (state === 'waiting') return { text: 'Waiting…', label: 'Your message, being sent' };
  if (state === 'sending') return { text: 'Sending…', label: 'Your message, being sent' };
  if (!resends) return { text: 'Not sent', label: 'Your message, not sent' };
  return { text: 'Will be sent when the connection is back', label: 'Your message, to be sent when the connection is back' };
}

/** A message that is being sent, in gray. A failed one shows the API's error and can be sent again, edited or discarded. */
export function OutgoingView({ message, serverId }: { message: Outgoing; serverId: string | null }): JSX.Element | null {
  const own = me.value;
  if (!own) return null;
  const { key, content, files, state, progress, error, replyTo } = message;
  const { text, label } = fateOf(message);
  return (
    <article class={`message outgoing ${state}`} tabIndex={-1} aria-label={label}>
      {replyTo && (
        <p class="reply-line">
          Replying to <bdi>{replyTo.author.displayName}</bdi>
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
          <span class="hint">{text}</span>
        </p>
        {content !== '' && <Markup content={content} serverId={serverId} />}
        {files.length > 0 && (
          <ul class="outgoing-files">
            {files.map((file, index) => (
              <li key={index}>
                <bdi>{safeFileName(file.name)}</bdi> <span class="hint">{sizeOf(file.size)}</span>
              </li>
            ))}
          </ul>
        )}
        {files.length > 0 && state === 'sending' && <progress aria-label="Upload progress" max={1} value={progress} />}
        {state === 'failed' && (
          <>
            {!message.resends && <ErrorNotice error={error} />}
            <div class="outgoing-actions">
              <Button onClick={() => sendAgain(key)}>Send again</Button>
              {isRefused(error) && <Button onClick={() => moveToComposer(message, serverId)}>Edit</Button>}
              <Button variant="quiet" onClick={() => discard(key)}>
                Discard
              </Button>
            </div>
          </>
        )}
        {state !== 'failed' && files.length > 0 && (
          <div class="outgoing-actions">
            <Button variant="quiet" onClick={() => discard(key)}>
              Cancel upload
            </Button>
          </div>
        )}
      </div>
    </article>
  );
}

const stateTexts: Record<PendingCommand['state'], (bot: string) => string> = {
  created: (bot) => `Waiting for ${bot}…`,
  failing: (bot) => `${bot} has a problem and may not respond.`,
  deferred: (bot) => `${bot} is thinking…`,
  expired: (bot) => `${bot} did not respond.`,
  answered: (bot) => `${bot} answered.`,
};

/** A slash command whose response is not on the screen yet. */
export function PendingCommandView({ pending: { id, command, bot, state } }: { pending: PendingCommand }): JSX.Element {
  const isOver = state === 'expired' || state === 'failing';
  return (
    <div class={`pending-command ${state}`}>
      {isOver ? <Icon of={CircleAlert} /> : <span class="dots" aria-hidden="true" />}
      <p>
        <strong>/{command}</strong> · <bdi>{stateTexts[state](bot)}</bdi> <span class="hint">Only you can see this.</span>
      </p>
      {isOver && (
        <Button variant="quiet" onClick={() => dismissCommand(id)}>
          Dismiss
        </Button>
      )}
    </div>
  );
}
