import { useSignal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import type { PickerCommand } from '../../../../lib/contract/command.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import type { ChannelContext } from '../channel-context.ts';
import { CompletionCount, useCompletion } from './completion.tsx';
import { type Query, queryAt } from './completion-query.ts';
import type { Suggestion } from './completion-sources.tsx';
import { useSuggestions } from './completion-suggest.ts';
import { replaceIn } from './composer-area.ts';
import { type Meaning, tokenFor } from './composer-tokens.ts';

const listNames = { '@': 'People and roles', '#': 'Channels', ':': 'Emoji', '/': 'Commands' } as const;

/** The completion of a text area. */
export interface TextCompletion {
  /** The attributes and handlers of the text area. */
  areaProps: JSX.IntrinsicElements['textarea'];
  query: Query | null;
  /** The position of the caret. */
  caret: number;
  /** Must be called after an input. */
  updateCaret: () => void;
  /** Handles a key press in the text area. Returns true when the completion used it. */
  onKey: (event: KeyboardEvent) => boolean;
  /** The suggestions, to render beside the text area. */
  list: JSX.Element | null;
  /** Announces the suggestions; to render anywhere. */
  announcement: JSX.Element;
}

/**
 * Completes mentions, channels and emoji in a text area that holds a message, and with `onCommand` also commands. A chosen name is inserted as a readable word
 * and added to `tokens` with its meaning.
 */
export function useTextCompletion({
  context,
  area,
  text,
  tokens,
  onCommand,
}: {
  context: ChannelContext;
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  tokens: Map<string, Meaning>;
  onCommand?: (command: PickerCommand, query: Query, caret: number) => void;
}): TextCompletion {
  const caret = useSignal(text.length);
  const focused = useSignal(false);
  const found = focused.value ? queryAt(text, caret.value, tokens.keys()) : null;
  const query = found?.sign === '/' && !onCommand ? null : found;
  const { items, busy, error } = useSuggestions(context, query);
  const accept = ({ choice }: Suggestion): void => {
    if (!query || !area.current) return;
    if (choice.kind === 'command') return onCommand?.(choice.command, query, caret.value);
    let word: string;
    if (choice.kind === 'text') word = choice.text;
    else {
      word = tokenFor(tokens, choice.sign, choice.names, choice.meaning);
      if (word !== choice.meaning.content) tokens.set(word, choice.meaning);
    }
    const hasSpace = /^\s/.test(text.slice(caret.value));
    replaceIn(area.current, query.start, caret.value, hasSpace ? word : `${word} `);
  };
  const completion = useCompletion({
    items,
    query: (query?.sign ?? '') + (query?.wanted ?? ''),
    closeKey: `${query?.sign}${query?.start}`,
    label: query ? listNames[query.sign] : '',
    onAccept: accept,
  });
  const updateCaret = (): void => {
    caret.value = area.current?.selectionStart ?? 0;
  };
  const wait = query && (busy || error) && (
    <div class="completion completion-wait">{error ? <ErrorNotice error={error} /> : <p class="soft">Loading commands…</p>}</div>
  );
  return {
    areaProps: {
      'aria-autocomplete': 'list',
      ...completion.fieldProps,
      onKeyUp: updateCaret,
      onClick: updateCaret,
      onFocus: () => (focused.value = true),
      onBlur: () => (focused.value = false),
    },
    query,
    caret: caret.value,
    updateCaret,
    onKey: completion.onKey,
    list: completion.list ?? (wait || null),
    announcement: <CompletionCount count={items.length} isOpen={completion.isOpen} />,
  };
}
