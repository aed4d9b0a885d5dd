import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { asApiError, call, path } from '../../api/call.ts';
import { historyOf } from '../../state/histories.ts';
import { Button } from '../../ui/button.tsx';
import { showError, showToast } from '../../ui/toast.tsx';
import { type ChannelContext, pathOf } from '../channel-context.ts';
import { type ChannelDraft, keepEdit } from './composer-drafts.ts';
import { insertContent } from './composer-sending.ts';
import { toContent } from './composer-tokens.ts';
import { editing } from './composing.ts';

/** Offers the newest half-written edit of the channel whose field is not open, as after a reload or when the message was deleted. */
export function EditBar({ context, draft }: { context: ChannelContext; draft: ChannelDraft }): JSX.Element | null {
  const { channelId, serverId } = context;
  const { route } = useLocation();
  const openId = useComputed(() => historyOf(channelId).messages.value.find(({ id }) => id === editing.value)?.id);
  const edit = draft.edits.value.findLast(({ messageId }) => messageId !== openId.value);
  if (!edit) return null;
  const { messageId, text, tokens } = edit;
  const resume = async (): Promise<void> => {
    try {
      await call('GET', path`/api/channels/${channelId}/messages/${messageId}`);
      editing.value = messageId;
      route(`${pathOf(channelId)}?message=${messageId}`);
    } catch (fault) {
      if (asApiError(fault).status !== 404) return showError(fault);
      keepEdit(channelId, messageId);
      insertContent(draft, toContent(text, new Map(tokens), 'content'), serverId);
      showToast('The message was deleted. Its text is in the field for a new message.');
    }
  };
  return (
    <div class="composer-reply">
      <p>Unfinished edit</p>
      <Button variant="quiet" onClick={() => void resume()}>
        Continue
      </Button>
      <Button variant="quiet" onClick={() => keepEdit(channelId, messageId)}>
        Discard
      </Button>
    </div>
  );
}
