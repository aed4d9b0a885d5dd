import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { countOf } from '../../ui/counts.ts';
import './completion.css';
import type { Suggestion } from './completion-sources.tsx';

/** A list of suggestions that a field controls. The focus stays in the field. */
export interface Completion {
  /** The attributes that connect the field to the list for a screen reader. */
  fieldProps: { 'aria-controls'?: string; 'aria-activedescendant'?: string };
  isOpen: boolean;
  /** Handles a key press in the field. Returns true when the list used it. */
  onKey: (event: KeyboardEvent) => boolean;
  /** The list to render beside the field; null when there is nothing to suggest. */
  list: JSX.Element | null;
}

/** Groups consecutive suggestions with the same heading. */
function groupsOf(items: readonly Suggestion[]): { name: string | undefined; from: number; items: Suggestion[] }[] {
  const groups: { name: string | undefined; from: number; items: Suggestion[] }[] = [];
  items.forEach((item, at) => {
    const last = groups.at(-1);
    if (last && last.name === item.group) last.items.push(item);
    else groups.push({ name: item.group, from: at, items: [item] });
  });
  return groups;
}

/**
 * Shows suggestions for a field. Arrow keys choose, Tab and Enter accept, Escape closes. When `query`, the text that is completed, changes, the first
 * suggestion is chosen again. A list that was closed stays closed while `closeKey` is the same.
 */
export function useCompletion({
  items,
  query,
  closeKey,
  label,
  eager = true,
  onAccept,
}: {
  items: readonly Suggestion[];
  query: string;
  closeKey: string;
  label: string;
  /** Whether the first suggestion is chosen from the start. Without it, Tab and Enter have no effect until one is chosen. */
  eager?: boolean;
  onAccept: (item: Suggestion) => void;
}): Completion {
  const id = useId();
  const chosen = useSignal({ query: '', at: -1 });
  const closed = useSignal<string | null>(null);
  const isOpen = items.length > 0 && closed.value !== closeKey;
  const first = eager ? 0 : -1;
  const at = chosen.value.query === query ? Math.max(first, Math.min(chosen.value.at, items.length - 1)) : first;
  const choose = (next: number): void => {
    chosen.value = { query, at: (next + items.length) % items.length };
  };
  const optionId = (index: number): string => `${id}-${index}`;
  useEffect(() => {
    if (isOpen) document.getElementById(optionId(at))?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, at]);

  const onKey = (event: KeyboardEvent): boolean => {
    const item = items[at];
    if (!isOpen || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return false;
    if (event.key === 'ArrowDown') choose(at + 1);
    else if (event.key === 'ArrowUp') choose(Math.max(at, 0) - 1);
    else if (item && (event.key === 'Tab' || event.key === 'Enter')) onAccept(item);
    else if (event.key === 'Escape') closed.value = closeKey;
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };

  const row = (item: Suggestion, index: number): JSX.Element => (
    <div
      key={item.id}
      id={optionId(index)}
      role="option"
      class="completion-row"
      aria-selected={index === at}
      onMouseMove={() => index !== at && choose(index)}
      onClick={() => onAccept(item)}
    >
      <span class="completion-picture" aria-hidden="true">
        {item.picture}
      </span>
      <bdi class="completion-label">{item.label}</bdi>
      <bdi class="completion-detail soft">{item.detail}</bdi>
    </div>
  );
  const list = isOpen ? (
    // Pressing the mouse on the list must not take the focus from the field.
    <div class="completion" id={id} role="listbox" aria-label={label} onMouseDown={(event) => event.preventDefault()}>
      {groupsOf(items).map(({ name, from, items: rows }) =>
        name === undefined ? (
          rows.map((item, index) => row(item, from + index))
        ) : (
          <div key={name + rows[0]?.id} role="group" aria-label={name}>
            <div class="completion-group soft" aria-hidden="true">
              {name}
            </div>
            {rows.map((item, index) => row(item, from + index))}
          </div>
        ),
      )}
    </div>
  ) : null;
  return {
    fieldProps: isOpen ? { 'aria-controls': id, ...(at >= 0 && { 'aria-activedescendant': optionId(at) }) } : {},
    isOpen,
    onKey,
    list,
  };
}

/** Announces the number of suggestions to a screen reader when the list opens. */
export function CompletionCount({ count, isOpen }: { count: number; isOpen: boolean }): JSX.Element {
  return (
    <span class="visually-hidden" role="status">
      {isOpen ? countOf(count, 'suggestion') : ''}
    </span>
  );
}
