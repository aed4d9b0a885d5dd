import { useComputed, useSignal } from '@preact/signals';
import { Search } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../ui/icon.tsx';
import { visit } from './location.ts';
import { reference } from './reference-data.ts';
import { listEntries, listGuideEntries, type SearchEntry, search } from './search.ts';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The search over the reference and the guides, within what the page has loaded. `/` focuses it; the arrow keys and Enter choose a result. */
export function SearchBox(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const query = useSignal('');
  const isOpen = useSignal(false);
  const chosen = useSignal(0);
  const guideEntries = useSignal<readonly SearchEntry[] | null>(null);
  const entries = useComputed(() => (reference.value ? listEntries(reference.value) : []));
  const results = useComputed(() => search([...entries.value, ...(guideEntries.value ?? [])], query.value));

  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);

  const open = (): void => {
    isOpen.value = true;
    if (guideEntries.value) return;
    guideEntries.value = [];
    void listGuideEntries().then((found) => (guideEntries.value = found));
  };
  const choose = (result: SearchEntry | undefined): void => {
    if (!result) return;
    isOpen.value = false;
    query.value = '';
    input.current?.blur();
    visit(result.href);
  };
  const handleKey = (event: KeyboardEvent): void => {
    const { length } = results.value;
    const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (move !== undefined && length > 0) {
      event.preventDefault();
      chosen.value = (chosen.value + move + length) % length;
      document.getElementById(`result-${chosen.value}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') choose(results.value[chosen.value]);
    else if (event.key === 'Escape') {
      isOpen.value = false;
      input.current?.blur();
    }
  };
  const isShown = isOpen.value && query.value.trim() !== '';
  return (
    <div class="ref-search" role="search">
      <Icon of={Search} size="1.1em" />
      <input
        ref={input}
        type="text"
        dir="auto"
        role="combobox"
        aria-label="Search the reference and the guides"
        aria-expanded={isShown}
        aria-controls="results"
        aria-autocomplete="list"
        aria-activedescendant={isShown && results.value.length > 0 ? `result-${chosen.value}` : undefined}
        placeholder="Search (/)"
        autocomplete="off"
        value={query.value}
        onFocus={open}
        onBlur={() => (isOpen.value = false)}
        onInput={({ currentTarget }) => {
          query.value = currentTarget.value;
          chosen.value = 0;
          open();
        }}
        onKeyDown={handleKey}
      />
      {/* The press is kept from the field, so that it keeps the focus until the click has chosen a result. */}
      <div
        id="results"
        class="ref-results"
        role="listbox"
        aria-label="Results"
        hidden={!isShown}
        onMouseDown={(event) => event.preventDefault()}
      >
        {results.value.map((result, index) => (
          <div
            key={`${result.href} ${result.title}`}
            id={`result-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            onClick={() => choose(result)}
          >
            <span class="ref-result-title">{result.title}</span>
            <span class="ref-result-kind">{result.kind}</span>
            <span class="ref-result-hint">{result.hint}</span>
          </div>
        ))}
      </div>
      {isShown && results.value.length === 0 && (
        <p class="ref-results" role="status">
          Nothing has all of these words.
        </p>
      )}
    </div>
  );
}
