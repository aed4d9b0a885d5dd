import type { JSX } from 'preact';
import { SelectField, TextField } from '../../ui/form.tsx';
import type { DraftCommand } from './draft.ts';
import { errorAt, type FieldErrors } from './field-errors.ts';
import { OptionEditor } from './option-editor.tsx';

const kinds = [
  { value: 'slash', label: 'Slash command' },
  { value: 'prefix', label: 'Prefix command' },
] as const;

/** The editor of all fields of one command. `path` is its JSON pointer in the list, which is used to find its errors. */
export function CommandEditor({
  command,
  path,
  errors,
  onChange,
}: {
  command: DraftCommand;
  path: string;
  errors: FieldErrors;
  /** `structural` is true when options were added, removed or moved. */
  onChange: (command: DraftCommand, structural: boolean) => void;
}): JSX.Element {
  const isSlash = command.kind === 'slash';
  const ownError = errorAt(errors, path);
  return (
    <div class="command-editor">
      {ownError && <p class="field-error">{ownError}</p>}
      <div class="command-fields">
        <SelectField
          label="Kind"
          hint={
            isSlash ? 'The bot receives an interaction and answers it.' : 'Only listed in the picker. The bot receives a normal message.'
          }
          value={command.kind}
          options={kinds}
          onValue={(kind) => onChange({ ...command, kind }, true)}
          error={errorAt(errors, `${path}/kind`)}
        />
        {!isSlash && (
          <TextField
            label="Prefix"
            hint="1 to 5 characters without spaces, which people type before the name."
            autocomplete="off"
            value={command.prefix}
            onValue={(prefix) => onChange({ ...command, prefix }, false)}
            error={errorAt(errors, `${path}/prefix`)}
          />
        )}
        <TextField
          label="Name"
          hint={isSlash ? '1 to 32 lowercase letters, numbers, - and _.' : '1 to 32 characters without spaces.'}
          autocomplete="off"
          value={command.name}
          onValue={(name) => onChange({ ...command, name }, false)}
          error={errorAt(errors, `${path}/name`)}
        />
        <TextField
          label={isSlash ? 'Description' : 'Description (optional)'}
          hint="Up to 100 characters. Shown in the picker."
          autocomplete="off"
          value={command.description}
          onValue={(description) => onChange({ ...command, description }, false)}
          error={errorAt(errors, `${path}/description`)}
        />
      </div>
      {isSlash && (
        <OptionEditor
          options={command.options}
          path={`${path}/options`}
          errors={errors}
          onChange={(options, structural) => onChange({ ...command, options }, structural)}
        />
      )}
    </div>
  );
}
