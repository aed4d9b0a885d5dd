import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { folded } from '../../../../lib/base/text.ts';
import type { Place } from '../place.ts';
import { CompletionCount, useCompletion } from './completion.tsx';
import { channelsFor, peopleFor, rolesFor, type Suggestion } from './completion-sources.tsx';
import { readMembers } from './completion-suggest.ts';
import type { Filled } from './composer-drafts.ts';

/** The option types whose value is chosen from a list. */
export type PickedType = 'user' | 'role' | 'channel';

function choicesFor(type: PickedType, place: Place, wanted: string): Suggestion[] {
  switch (type) {
    case 'user':
      return peopleFor(place, wanted);
    case 'role':
      return rolesFor(place, wanted);
    case 'channel':
      return channelsFor(place, wanted, true);
    default:
      return type satisfies never;
  }
}

/** The field of an option that is a person, role or channel. The user types a name, and completion chooses the object. */
export function OptionPicker({
  tie,
  type,
  place,
  value,
  onFill,
}: {
  tie: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true };
  type: PickedType;
  place: Place;
  value: Filled;
  onFill: (value: Filled) => void;
}): JSX.Element {
  const focused = useSignal(false);
  useEffect(() => {
    if (type === 'user') readMembers(place);
  }, [type]);
  const wanted = value.text.replace(/^[@#]/, '');
  const items = focused.value && value.id === undefined ? choicesFor(type, place, wanted) : [];
  const fill = ({ id, label }: Suggestion): void => onFill({ text: label, id });
  const completion = useCompletion({
    items,
    about: wanted,
    closing: wanted,
    label: { user: 'People', role: 'Roles', channel: 'Channels' }[type],
    eager: wanted !== '',
    onTake: fill,
  });
  const leave = (): void => {
    focused.value = false;
    if (value.id !== undefined || wanted === '') return;
    // A name that is typed in full counts like one chosen from the list.
    const same = choicesFor(type, place, wanted).filter(({ label, detail }) =>
      [label, detail].some((name) => folded(name) === folded(wanted)),
    );
    if (same.length === 1 && same[0]) fill(same[0]);
  };
  return (
    <>
      <input
        {...tie}
        {...completion.tie}
        type="text"
        role="combobox"
        aria-expanded={completion.isOpen}
        aria-autocomplete="list"
        autocomplete="off"
        value={value.text}
        onInput={({ currentTarget }) => onFill({ text: currentTarget.value })}
        onKeyDown={completion.onKey}
        onFocus={() => (focused.value = true)}
        onBlur={leave}
      />
      <CompletionCount count={items.length} isOpen={completion.isOpen} />
      {completion.list}
    </>
  );
}
