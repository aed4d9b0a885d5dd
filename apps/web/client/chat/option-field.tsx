import { X } from 'lucide';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { CommandOption } from '../../../../lib/contract/command.ts';
import { IconButton } from '../../ui/button.tsx';
import { Field } from '../../ui/form.tsx';
import type { ChannelContext } from '../channel-context.ts';
import { useAutoGrow } from './composer-area.ts';
import type { FieldValue } from './composer-drafts.ts';
import { OptionPicker } from './option-picker.tsx';

/** The names of the option types as the page shows them. */
const typeNames: Record<CommandOption['type'], string> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  user: 'a person',
  role: 'a role',
  channel: 'a channel',
};

interface ControlProps {
  fieldProps: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true };
  option: CommandOption;
  context: ChannelContext;
  value: FieldValue;
  onFill: (value: FieldValue) => void;
}

/** A text field that grows with its text. */
function TextControl({ fieldProps, value, onFill }: ControlProps): JSX.Element {
  const ref = useRef<HTMLTextAreaElement>(null);
  useAutoGrow(ref, value.text);
  return (
    <textarea
      {...fieldProps}
      ref={ref}
      class="option-text"
      dir="auto"
      rows={1}
      value={value.text}
      onInput={({ currentTarget }) => onFill({ text: currentTarget.value })}
    />
  );
}

function Control(props: ControlProps): JSX.Element {
  const { fieldProps, option, context, value, onFill } = props;
  switch (option.type) {
    case 'string':
      return <TextControl {...props} />;
    case 'integer':
    case 'number':
      return (
        <input
          {...fieldProps}
          type="text"
          inputMode={option.type === 'integer' ? 'numeric' : 'decimal'}
          autocomplete="off"
          value={value.text}
          onInput={({ currentTarget }) => onFill({ text: currentTarget.value })}
        />
      );
    case 'boolean':
      return (
        <select {...fieldProps} value={value.text} onChange={({ currentTarget }) => onFill({ text: currentTarget.value })}>
          <option value="">Choose…</option>
          <option value="true">True</option>
          <option value="false">False</option>
        </select>
      );
    case 'user':
    case 'role':
    case 'channel':
      return <OptionPicker fieldProps={fieldProps} type={option.type} context={context} value={value} onFill={onFill} />;
    default:
      return option.type satisfies never;
  }
}

/** The field of one command option: a control for its type, its description, and its error. An optional one can be removed. */
export function OptionField({
  error,
  onRemove,
  ...control
}: Omit<ControlProps, 'fieldProps'> & { error: string | undefined; onRemove: () => void }): JSX.Element {
  const { name, description, type, required } = control.option;
  return (
    <div class="option-field">
      <Field label={`${name}${required ? ' (required)' : ''}`} hint={`${description} · ${typeNames[type]}`} error={error}>
        {(fieldProps) => <Control fieldProps={fieldProps} {...control} />}
      </Field>
      {!required && <IconButton of={X} label={`Remove ${name}`} onClick={onRemove} />}
    </div>
  );
}
