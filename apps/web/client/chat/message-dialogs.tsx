import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { truncate } from '../../../../lib/base/text.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { ThreadDialog } from '../panels/thread-dialog.tsx';
import { plainText } from './markup-text.ts';
import { deleteMessage } from './message-tools.ts';

const quoteLength = 120;

interface DialogProps {
  message: Message;
  serverId: string | null;
  onClose: () => void;
}

/** Asks for confirmation before a message is deleted. */
export function DeleteDialog({ message, serverId, onClose }: DialogProps): JSX.Element {
  const text = truncate(plainText(message.content, serverId), quoteLength);
  return (
    <Confirm title="Delete message?" action="Delete" run={() => deleteMessage(message)} onClose={onClose}>
      <blockquote class="quoted">
        <strong>
          <bdi>{message.author.displayName}</bdi>
        </strong>{' '}
        <bdi>{text || 'attachment or embed'}</bdi>
      </blockquote>
      <p class="hint">{message.attachments.length > 0 && 'Its files are deleted too. '}This cannot be undone.</p>
    </Confirm>
  );
}

/** Starts a thread from a message, and opens it. */
export function ThreadFromDialog({ message: { id, channelId, content }, serverId, onClose }: DialogProps): JSX.Element {
  const suggested = truncate(plainText(content, serverId), limits.nameChars / 2);
  return <ThreadDialog channelId={channelId} messageId={id} suggested={suggested} onClose={onClose} />;
}
