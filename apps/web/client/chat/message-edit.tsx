import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { patchMessage } from '../../state/histories.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { readableOf, toContent } from './composer-tokens.ts';
import { editing } from './composing.ts';
import { withEmojis } from './emoji-shortcodes.ts';
import { mentionNames } from './markup-text.ts';

/** Edits the user's own message in place, with mentions shown by name as in `serverId`. Enter saves, Escape cancels. The focus then returns to where it was. */
export function MessageEdit({ message: { id, channelId, content }, serverId }: { message: Message; serverId: string | null }): JSX.Element {
  const readable = useMemo(() => readableOf(content, mentionNames(serverId)), []);
  const text = useSignal(readable.text);
  const task = useTask();
  const area = useRef<HTMLTextAreaElement>(null);
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
    editing.value = null;
  };
  const save = async (): Promise<void> => {
    const next = await withEmojis(toContent(text.value, readable.tokens, 'content'));
    if (next === content) return close();
    const done = await task.run(async () => {
      const edited = await call<Message>('PATCH', path`/api/channels/${channelId}/messages/${id}`, { content: next });
      patchMessage(channelId, id, { content: edited.content, editedAt: edited.editedAt, embeds: edited.embeds });
    });
    if (done) close();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
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
      <textarea
        ref={area}
        aria-label="Edit message"
        value={text.value}
        rows={1}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={onKey}
      />
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
