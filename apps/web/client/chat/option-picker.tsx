import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { foldCase } from '../../../../lib/base/text.ts';
import type { ChannelContext } from '../channel-context.ts';
import { CompletionCount, useCompletion } from './completion.tsx';
import { channelsFor, peopleFor, rolesFor, type Suggestion } from './completion-sources.tsx';
import { loadMembersOnce } from './completion-suggest.ts';
import type { FieldValue } from './composer-drafts.ts';

/** The option types whose value is chosen from a list. */
export type PickerType = 'user' | 'role' | 'channel';

function choicesFor(type: PickerType, context: ChannelContext, wanted: string): Suggestion[] {
  switch (type) {
    case 'user':
      return peopleFor(context, wanted);
    case 'role':
      return rolesFor(context, wanted);
    case 'channel':
      return channelsFor(context, wanted, true);
    default:
      return type satisfies never;
  }
}

/** The field of an option that is a person, role or channel. The user types a name, and completion chooses the object. */
export function OptionPicker({
  fieldProps,
  type,
  context,
  value,
  onFill,
}: {
  fieldProps: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true };
  type: PickerType;
  context: ChannelContext;
  value: FieldValue;
  onFill: (value: FieldValue) => void;
}): JSX.Element {
  const focused = useSignal(false);
  useEffect(() => {
    if (type === 'user') loadMembersOnce(context);
  }, [type]);
  const query = value.text.replace(/^[@#]/, '');
  const items = focused.value && value.id === undefined ? choicesFor(type, context, query) : [];
  const fill = ({ id, label }: Suggestion): void => onFill({ text: label, id });
  const completion = useCompletion({
    items,
    query,
    closeKey: query,
    label: { user: 'People', role: 'Roles', channel: 'Channels' }[type],
    eager: query !== '',
    onAccept: fill,
  });
  const onBlur = (): void => {
    focused.value = false;
    if (value.id !== undefined || query === '') return;
    // A name that is typed in full counts like one chosen from the list.
    const matches = choicesFor(type, context, query).filter(({ label, detail }) =>
      [label, detail].some((name) => foldCase(name) === foldCase(query)),
    );
    if (matches.length === 1 && matches[0]) fill(matches[0]);
  };
  return (
    <>
      <input
        {...fieldProps}
        {...completion.fieldProps}
        type="text"
        dir="auto"
        role="combobox"
        aria-expanded={completion.isOpen}
        aria-autocomplete="list"
        autocomplete="off"
        value={value.text}
        onInput={({ currentTarget }) => onFill({ text: currentTarget.value })}
        onKeyDown={completion.onKey}
        onFocus={() => (focused.value = true)}
        onBlur={onBlur}
      />
      <CompletionCount count={items.length} isOpen={completion.isOpen} />
      {completion.list}
    </>
  );
}
