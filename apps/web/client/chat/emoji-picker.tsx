import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { asApiError } from '../../api/call.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import './emoji-picker.css';
import { recordEmojiUse, skinTone, toneNames, usedEmojis } from './emoji-preferences.ts';
import { type Emoji, emojiGroups, findEmojis, loadEmojis } from './emojis.ts';
import { Popover } from './popover.tsx';

const maxFound = 120;
/** The number of the group "recently used". */
const recentGroup = -1;

/** Returns how many buttons a row of the grid has. */
const columnsOf = (grid: Element): number => getComputedStyle(grid).gridTemplateColumns.split(' ').length;

/** Returns the index that an arrow key, Home or End moves to from `index`; undefined for other keys. */
function indexAfter(key: string, index: number, count: number, columns: number): number | undefined {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -index, End: count - 1 - index }[key];
  return step === undefined ? undefined : Math.min(index + step, count - 1);
}

/**
 * Shows an emoji picker with search, groups, skin tones and recently used emoji, for mouse, touch and arrow keys. Calls `onPick` with the emoji; the caller
 * closes the picker.
 */
export function EmojiPicker({
  anchor,
  onPick,
  onClose,
}: {
  /** The element beside which the picker opens. */
  anchor: Element;
  onPick: (emoji: string) => void;
  onClose: () => void;
}): JSX.Element {
  return (
    <Popover anchor={anchor} label="Emoji" class="emoji-picker" onClose={onClose}>
      <Picker onPick={onPick} />
    </Popover>
  );
}

function Picker({ onPick }: { onPick: (emoji: string) => void }): JSX.Element {
  const emojis = useSignal<readonly Emoji[] | null>(null);
  const error = useSignal<unknown>(null);
  const query = useSignal('');
  const group = useSignal(usedEmojis.value.length ? recentGroup : 0);
  const grid = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const load = (): void => {
    error.value = null;
    loadEmojis().then(
      (list) => {
        emojis.value = list;
      },
      (fault: unknown) => {
        error.value = fault;
      },
    );
  };
  useLayoutEffect(() => {
    load();
    search.current?.focus();
  }, []);
  if (error.value) return <ErrorNotice error={asApiError(error.value)} retry={load} />;

  const withSkinTone = ({ emoji, skins }: Emoji): string => skins[skinTone.value - 1] ?? emoji;
  const all = emojis.value ?? [];
  const shown =
    query.value.trim() !== ''
      ? findEmojis(all, query.value, maxFound).map((one) => ({ label: one.label, emoji: withSkinTone(one) }))
      : group.value === recentGroup
        ? usedEmojis.value.map((emoji) => ({
            label: all.find((one) => one.emoji === emoji || one.skins.includes(emoji))?.label ?? emoji,
            emoji,
          }))
        : all.filter((one) => one.group === group.value).map((one) => ({ label: one.label, emoji: withSkinTone(one) }));
  const pick = (emoji: string): void => {
    recordEmojiUse(emoji);
    onPick(emoji);
  };
  const focusAt = (index: number): void => (grid.current?.children[index] as HTMLElement | undefined)?.focus();
  const onSearchKey = (event: KeyboardEvent): void => {
    const [first] = shown;
    if (event.key === 'Enter' && first) {
      event.preventDefault();
      pick(first.emoji);
    } else if (event.key === 'ArrowDown') {
      event.preventDefault();
      focusAt(0);
    }
  };
  const onGridKey = (event: KeyboardEvent): void => {
    if (!grid.current) return;
    const index = Array.from(grid.current.children).indexOf(document.activeElement as Element);
    const next = indexAfter(event.key, index, shown.length, columnsOf(grid.current));
    if (next === undefined) return;
    event.preventDefault();
    if (next < 0) search.current?.focus();
    else focusAt(next);
  };
  const groups = usedEmojis.value.length ? [{ group: recentGroup, name: 'Recently used', icon: '🕘' }, ...emojiGroups] : emojiGroups;
  return (
    <>
      <div class="emoji-picker-top">
        <input
          ref={search}
          type="search"
          dir="auto"
          aria-label="Search emoji"
          placeholder="Search emoji"
          value={query.value}
          onInput={({ currentTarget }) => (query.value = currentTarget.value)}
          onKeyDown={onSearchKey}
        />
        <select
          aria-label="Skin tone"
          value={String(skinTone.value)}
          onChange={({ currentTarget }) => (skinTone.value = Number(currentTarget.value))}
        >
          {toneNames.map(({ name, hand }, tone) => (
            <option key={name} value={tone} aria-label={name}>
              {hand}
            </option>
          ))}
        </select>
      </div>
      <div class="emoji-picker-groups" role="group" aria-label="Categories">
        {groups.map((one) => (
          <button
            key={one.group}
            type="button"
            aria-label={one.name}
            title={one.name}
            aria-pressed={query.value.trim() === '' && group.value === one.group}
            onClick={() => {
              query.value = '';
              group.value = one.group;
            }}
          >
            {one.icon}
          </button>
        ))}
      </div>
      <div class="emoji-picker-grid" role="group" aria-label="Emoji" ref={grid} onKeyDown={onGridKey}>
        {shown.map(({ emoji, label }, index) => (
          <button key={emoji} type="button" tabIndex={index === 0 ? 0 : -1} aria-label={label} title={label} onClick={() => pick(emoji)}>
            {emoji}
          </button>
        ))}
      </div>
      <p class="hint" role="status">
        {emojis.value ? shown.length === 0 && 'No emoji found.' : 'Loading…'}
      </p>
    </>
  );
}
