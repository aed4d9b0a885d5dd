import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { patchMessage } from '../../state/histories.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import type { ChannelContext } from '../channel-context.ts';
import { draftOf, keepEdit } from './composer-drafts.ts';
import { readableOf, toContent } from './composer-tokens.ts';
import { editing } from './composing.ts';
import { withEmojis } from './emoji-shortcodes.ts';
import { mentionNames } from './markup-text.ts';
import { useTextCompletion } from './text-completion.tsx';

/** Whether an element is in the upper half of the window, where a list of suggestions fits only below it. */
const isInUpperHalf = (element: Element | null): boolean => (element?.getBoundingClientRect().top ?? 0) < innerHeight / 2;

/**
 * Edits the user's own message in place, with mentions shown by name. Enter saves, Escape cancels. The focus then returns to where it was. A half-written edit
 * is kept in the draft of the channel.
 */
export function MessageEdit({ message: { id, channelId, content }, context }: { message: Message; context: ChannelContext }): JSX.Element {
  const start = useMemo(
    () =>
      draftOf(channelId)
        .edits.peek()
        .find(({ messageId }) => messageId === id) ?? readableOf(content, mentionNames(context.serverId)),
    [],
  );
  const tokens = useMemo(() => new Map(start.tokens), []);
  const text = useSignal(start.text);
  const task = useTask();
  const area = useRef<HTMLTextAreaElement>(null);
  const completion = useTextCompletion({ context, area, text: text.value, tokens });
  useLayoutEffect(() => {
    const previousFocus = document.activeElement;
    area.current?.focus();
    area.current?.setSelectionRange(text.value.length, text.value.length);
    area.current?.scrollIntoView({ block: 'nearest' });
    return () => {
      if (document.activeElement === document.body && previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  useLayoutEffect(() => {
    if (!area.current) return;
    area.current.style.height = 'auto';
    area.current.style.height = `${area.current.scrollHeight + 2}px`;
  }, [text.value]);
  const close = (): void => {
    keepEdit(channelId, id);
    editing.value = null;
  };
  const save = async (): Promise<void> => {
    const next = await withEmojis(toContent(text.value, tokens, 'content'));
    if (next === content) return close();
    const done = await task.run(async () => {
      const edited = await call<Message>('PATCH', path`/api/channels/${channelId}/messages/${id}`, { content: next });
      patchMessage(channelId, id, { content: edited.content, editedAt: edited.editedAt, embeds: edited.embeds });
    });
    if (done) close();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (completion.onKey(event)) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void save();
    }
  };
  return (
    <div class="message-edit">
      <div class={`message-edit-field ${isInUpperHalf(area.current) ? 'list-below' : ''}`}>
        <textarea
          ref={area}
          aria-label="Edit message"
          dir="auto"
          value={text.value}
          rows={1}
          {...completion.areaProps}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            keepEdit(channelId, id, { messageId: id, text: text.value, tokens: [...tokens] });
            completion.updateCaret();
          }}
          onKeyDown={onKey}
        />
        {completion.list}
      </div>
      {completion.announcement}
      <ErrorNotice error={task.error} />
      <div class="actions">
        <span class="hint">Enter to save, Escape to cancel</span>
        <Button variant="quiet" onClick={close}>
          Cancel
        </Button>
        <Button variant="main" busy={task.busy} onClick={() => void save()}>
          Save
        </Button>
      </div>
    </div>
  );
}
