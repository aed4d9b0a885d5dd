import { useSignal } from '@preact/signals';
import { Paperclip, SendHorizontal, Smile } from 'lucide';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { countCodePoints } from '../../../../lib/base/text.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { sendTyping } from '../../state/typing.ts';
import { IconButton } from '../../ui/button.tsx';
import { showError } from '../../ui/toast.tsx';
import type { ChannelContext } from '../channel-context.ts';
import { commandLineOf } from './command-line.ts';
import type { Query } from './completion-query.ts';
import { commandText } from './completion-sources.tsx';
import { isSendKey, replaceIn, useAutoGrow, useTypeAnywhere } from './composer-area.ts';
import { type ChannelDraft, openCommandForm } from './composer-drafts.ts';
import { CommandErrorNote, Counter, EveryoneNote, SlowModeNote, useCooldownSeconds } from './composer-notes.tsx';
import { cancelReply } from './composer-reply.tsx';
import { canSend, contentOf, lastOwnMessage, sendDraft, sendMessage } from './composer-sending.ts';
import { editing, replying } from './composing.ts';
import type { EmojiPicker } from './emoji-picker.tsx';
import { shortcodeBefore } from './emoji-shortcodes.ts';
import { runTypedCommand } from './run-command.ts';
import { useTextCompletion } from './text-completion.tsx';
import { TypingLine } from './typing-line.tsx';
import { pastedFiles } from './upload-drop.ts';

/** The button that opens the emoji picker. The code of the picker is loaded when it is first opened. */
function EmojiButton({ onPick }: { onPick: (emoji: string) => void }): JSX.Element {
  const picker = useSignal<{ Picker: typeof EmojiPicker; anchor: Element } | null>(null);
  const open = (anchor: Element): void =>
    void import('./emoji-picker.tsx').then((module) => {
      picker.value = { Picker: module.EmojiPicker, anchor };
    }, showError);
  const close = (): void => {
    picker.value = null;
  };
  const { Picker, anchor } = picker.value ?? {};
  return (
    <>
      <IconButton of={Smile} label="Emoji" aria-haspopup="dialog" onClick={({ currentTarget }) => open(currentTarget)} />
      {Picker && anchor && (
        <Picker
          anchor={anchor}
          onClose={close}
          onPick={(emoji) => {
            close();
            onPick(emoji);
          }}
        />
      )}
    </>
  );
}

/** The form to write a message: text with completion, files and the send button. */
export function ComposerForm({
  context,
  draft,
  mayAttach,
  takesFocus,
  onFiles,
}: {
  context: ChannelContext;
  draft: ChannelDraft;
  mayAttach: boolean;
  takesFocus: boolean;
  onFiles: (files: File[]) => void;
}): JSX.Element {
  const { channelId } = context;
  const { text, tokens } = draft;
  const area = useRef<HTMLTextAreaElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const busy = useSignal(false);
  const secondsLeft = useCooldownSeconds(context);
  useAutoGrow(area, text.value);
  useTypeAnywhere(area);
  const content = contentOf(draft);
  const original = replying.value.get(channelId);
  // Runs before the browser paints, so that the user can type or press Escape as soon as the reply bar is visible.
  useLayoutEffect(() => {
    if (takesFocus || original) area.current?.focus();
  }, [takesFocus, original?.id]);

  const runChosen = (chosen: PickerCommand): void => {
    const rest = commandLineOf(text.value)?.rest ?? '';
    busy.value = true;
    void runTypedCommand(context, draft, chosen, rest).then((sent) => {
      if (sent) text.value = '';
      busy.value = false;
    });
  };
  const acceptCommand = (chosen: PickerCommand, { wanted }: Query, caret: number): void => {
    const rest = text.value.slice(caret).trim();
    // A command that is typed in full and has no options needs no form.
    if (chosen.kind === 'slash' && !chosen.options?.length && wanted === chosen.name) runChosen(chosen);
    else if (chosen.kind === 'slash') openCommandForm(draft, chosen, rest);
    else if (area.current) replaceIn(area.current, 0, caret, `${commandText(chosen)} `);
  };
  const completion = useTextCompletion({ context, area, text: text.value, tokens, onCommand: acceptCommand });

  const submit = (): void => {
    if (busy.value) return;
    busy.value = true;
    void sendDraft(context, draft, secondsLeft).finally(() => {
      busy.value = false;
    });
  };
  const onInput = ({ data }: InputEvent): void => {
    text.value = area.current?.value ?? '';
    draft.commandError.value = null;
    completion.updateCaret();
    const caret = area.current?.selectionStart ?? 0;
    const typed = data === ':' ? shortcodeBefore(text.value, caret) : null;
    if (typed && area.current) replaceIn(area.current, typed.start, caret, typed.emoji);
    if (text.value.trim() !== '' && !text.value.startsWith('/')) sendTyping(channelId);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (completion.onKey(event)) return;
    const last = event.key === 'ArrowUp' && text.value === '' ? lastOwnMessage(context) : undefined;
    if (isSendKey(event)) submit();
    else if (last !== undefined) editing.value = last;
    else if (event.key === 'Escape' && original) cancelReply(channelId);
    else return;
    event.preventDefault();
  };
  const insertEmoji = (emoji: string): void => {
    const at = area.current;
    if (at) replaceIn(at, at.selectionStart, at.selectionEnd, emoji);
  };
  return (
    <>
      <CommandErrorNote error={draft.commandError.value} onCommand={runChosen} onMessage={() => void sendMessage(context, draft)} />
      <form
        class="composer-form"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {mayAttach && (
          <>
            <IconButton of={Paperclip} label="Attach files" onClick={() => input.current?.click()} />
            <input
              ref={input}
              type="file"
              multiple
              hidden
              onChange={({ currentTarget }) => {
                onFiles([...(currentTarget.files ?? [])]);
                // Reset, so that the same file can be chosen again.
                currentTarget.value = '';
                area.current?.focus();
              }}
            />
          </>
        )}
        <textarea
          ref={area}
          class="composer-text"
          dir="auto"
          rows={1}
          aria-label={`Message ${context.name}`}
          placeholder={`Message ${context.name}`}
          {...completion.areaProps}
          value={text.value}
          onInput={onInput}
          onKeyDown={onKey}
          onPaste={(event) => {
            const files = mayAttach ? pastedFiles(event.clipboardData) : [];
            if (files.length === 0) return;
            event.preventDefault();
            onFiles(files);
          }}
        />
        <EmojiButton onPick={insertEmoji} />
        <IconButton
          of={SendHorizontal}
          label="Send"
          type="submit"
          class="composer-send"
          disabled={busy.value || !canSend(draft, commandLineOf(text.value) ? 0 : secondsLeft)}
        />
        {completion.list}
      </form>
      {completion.announcement}
      <div class="composer-foot soft">
        <TypingLine channelId={channelId} />
        <SlowModeNote context={context} secondsLeft={secondsLeft} />
        <EveryoneNote context={context} content={content} />
        <Counter length={countCodePoints(content)} />
      </div>
    </>
  );
}
