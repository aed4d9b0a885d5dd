import { useSignal } from '@preact/signals';
import { Paperclip, SendHorizontal, Smile } from 'lucide';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { lengthOf } from '../../../../lib/base/text.ts';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { tellTyping } from '../../state/typing.ts';
import { IconButton } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { sayRefusal } from '../../ui/toast.tsx';
import type { Place } from '../place.ts';
import { commandLineOf } from './command-line.ts';
import { sendTyped } from './command-use.ts';
import { CompletionCount, useCompletion } from './completion.tsx';
import { queryAt } from './completion-query.ts';
import { type Suggestion, writtenAs } from './completion-sources.tsx';
import { useOffer } from './completion-suggest.ts';
import { isSendKey, replaceIn, useAutoGrow, useTypeAnywhere } from './composer-area.ts';
import { type ChannelDraft, startFilling } from './composer-drafts.ts';
import { Counter, LineNote, SlowNote, useSlowSeconds } from './composer-notes.tsx';
import { stopReplying } from './composer-reply.tsx';
import { contentOf, lastOwnMessage, obstacleOf, sendDraft, sendMessage } from './composer-sending.ts';
import { tokenFor } from './composer-tokens.ts';
import { editing, replying } from './composing.ts';
import type { EmojiPicker } from './emoji-picker.tsx';
import { shortcodeBefore } from './emoji-shortcodes.ts';
import { TypingLine } from './typing-line.tsx';
import { pastedFiles } from './upload-drop.ts';

const listNames = { '@': 'People and roles', '#': 'Channels', ':': 'Emoji', '/': 'Commands' } as const;

/** The button that opens the emoji picker. The code of the picker is loaded when it is first opened. */
function EmojiButton({ onPick }: { onPick: (emoji: string) => void }): JSX.Element {
  const picker = useSignal<{ Picker: typeof EmojiPicker; anchor: Element } | null>(null);
  const open = (anchor: Element): void =>
    void import('./emoji-picker.tsx').then((module) => {
      picker.value = { Picker: module.EmojiPicker, anchor };
    }, sayRefusal);
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
  place,
  draft,
  mayAttach,
  takesFocus,
  onFiles,
}: {
  place: Place;
  draft: ChannelDraft;
  mayAttach: boolean;
  takesFocus: boolean;
  onFiles: (files: File[]) => void;
}): JSX.Element {
  const { channelId } = place;
  const { text, tokens } = draft;
  const area = useRef<HTMLTextAreaElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const caret = useSignal(text.value.length);
  const focused = useSignal(false);
  const busy = useSignal(false);
  const secondsLeft = useSlowSeconds(place);
  useAutoGrow(area, text.value);
  useTypeAnywhere(area);
  const original = replying.value.get(channelId);
  // Runs before the browser paints, so that the user can type or press Escape as soon as the reply bar is visible.
  useLayoutEffect(() => {
    if (takesFocus || original) area.current?.focus();
  }, [takesFocus, original?.id]);

  const query = focused.value ? queryAt(text.value, caret.value, tokens.keys()) : null;
  const { items, busy: asking, fault } = useOffer(place, query);
  const sendOne = (chosen: PickerCommand): void => {
    const rest = commandLineOf(text.value)?.rest ?? '';
    busy.value = true;
    void sendTyped(place, draft, chosen, rest).then((sent) => {
      if (sent) text.value = '';
      busy.value = false;
    });
  };
  const command = (chosen: PickerCommand): void => {
    const behind = text.value.slice(caret.value).trim();
    // A command that is typed in full and has no options needs no form.
    if (chosen.kind === 'slash' && !chosen.options?.length && query?.wanted === chosen.name) sendOne(chosen);
    else if (chosen.kind === 'slash') startFilling(draft, chosen, behind);
    else if (area.current) replaceIn(area.current, 0, caret.value, `${writtenAs(chosen)} `);
  };
  const take = ({ choice }: Suggestion): void => {
    if (!query || !area.current) return;
    if (choice.kind === 'command') return command(choice.command);
    let word: string;
    if (choice.kind === 'text') word = choice.text;
    else {
      word = tokenFor(tokens, choice.sign, choice.names, choice.meaning);
      if (word !== choice.meaning.content) tokens.set(word, choice.meaning);
    }
    const spaced = /^\s/.test(text.value.slice(caret.value));
    replaceIn(area.current, query.start, caret.value, spaced ? word : `${word} `);
  };
  const completion = useCompletion({
    items,
    about: (query?.sign ?? '') + (query?.wanted ?? ''),
    closing: `${query?.sign}${query?.start}`,
    label: query ? listNames[query.sign] : '',
    onTake: take,
  });

  const submit = (): void => {
    if (busy.value) return;
    busy.value = true;
    void sendDraft(place, draft, secondsLeft).finally(() => {
      busy.value = false;
    });
  };
  const look = (): void => {
    caret.value = area.current?.selectionStart ?? 0;
  };
  const onInput = ({ data }: InputEvent): void => {
    text.value = area.current?.value ?? '';
    draft.lineFault.value = null;
    look();
    const typed = data === ':' ? shortcodeBefore(text.value, caret.value) : null;
    if (typed && area.current) replaceIn(area.current, typed.start, caret.value, typed.emoji);
    if (text.value.trim() !== '' && !text.value.startsWith('/')) tellTyping(channelId);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (completion.onKey(event)) return;
    const last = event.key === 'ArrowUp' && text.value === '' ? lastOwnMessage(place) : undefined;
    if (isSendKey(event)) submit();
    else if (last !== undefined) editing.value = last;
    else if (event.key === 'Escape' && original && !event.isComposing) stopReplying(channelId);
    else return;
    event.preventDefault();
  };
  const insertEmoji = (emoji: string): void => {
    const at = area.current;
    if (at) replaceIn(at, at.selectionStart, at.selectionEnd, emoji);
  };
  return (
    <>
      <LineNote fault={draft.lineFault.value} onCommand={sendOne} onMessage={() => void sendMessage(place, draft)} />
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
          rows={1}
          aria-label={`Message ${place.name}`}
          placeholder={`Message ${place.name}`}
          aria-autocomplete="list"
          {...completion.tie}
          value={text.value}
          onInput={onInput}
          onKeyDown={onKey}
          onKeyUp={look}
          onClick={look}
          onFocus={() => (focused.value = true)}
          onBlur={() => (focused.value = false)}
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
          disabled={busy.value || obstacleOf(draft, commandLineOf(text.value) ? 0 : secondsLeft) !== null}
        />
        {completion.list}
        {query && (asking || fault) && (
          <div class="completion completion-wait">{fault ? <Problem error={fault} /> : <p class="soft">Looking for commands …</p>}</div>
        )}
      </form>
      <CompletionCount count={items.length} isOpen={completion.isOpen} />
      <div class="composer-foot soft">
        <TypingLine channelId={channelId} />
        <SlowNote place={place} secondsLeft={secondsLeft} />
        <Counter length={lengthOf(contentOf(draft))} />
      </div>
    </>
  );
}
