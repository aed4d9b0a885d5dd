import type { JSX } from 'preact';
import { SelectField, TextField } from '../../ui/form.tsx';
import type { DraftCommand } from './draft.ts';
import { type Faults, faultAt } from './faults.ts';
import { OptionEditor } from './option-editor.tsx';

const kinds = [
  { value: 'slash', label: 'Slash command' },
  { value: 'prefix', label: 'Prefix command' },
] as const;

/** The editor of all fields of one command. `path` is its JSON pointer in the list, which is used to find its errors. */
export function CommandEditor({
  command,
  path,
  faults,
  onChange,
}: {
  command: DraftCommand;
  path: string;
  faults: Faults;
  /** `structural` is true when options were added, removed or moved. */
  onChange: (command: DraftCommand, structural: boolean) => void;
}): JSX.Element {
  const isSlash = command.kind === 'slash';
  const own = faultAt(faults, path);
  return (
    <div class="command-editor">
      {own && <p class="field-error">{own}</p>}
      <div class="command-fields">
        <SelectField
          label="Kind"
          hint={
            isSlash ? 'The bot receives an interaction and answers it.' : 'Only listed in the picker. The bot receives it as a message.'
          }
          value={command.kind}
          options={kinds}
          onValue={(kind) => onChange({ ...command, kind }, true)}
          error={faultAt(faults, `${path}/kind`)}
        />
        {!isSlash && (
          <TextField
            label="Prefix"
            hint="1 to 5 characters, no spaces: what people type before the name."
            autocomplete="off"
            value={command.prefix}
            onValue={(prefix) => onChange({ ...command, prefix }, false)}
            error={faultAt(faults, `${path}/prefix`)}
          />
        )}
        <TextField
          label="Name"
          hint={isSlash ? '1 to 32 of a-z, 0-9, - and _.' : '1 to 32 characters, no spaces.'}
          autocomplete="off"
          value={command.name}
          onValue={(name) => onChange({ ...command, name }, false)}
          error={faultAt(faults, `${path}/name`)}
        />
        <TextField
          label={isSlash ? 'Description' : 'Description (optional)'}
          hint="Up to 100 characters, shown in the picker."
          autocomplete="off"
          value={command.description}
          onValue={(description) => onChange({ ...command, description }, false)}
          error={faultAt(faults, `${path}/description`)}
        />
      </div>
      {isSlash && (
        <OptionEditor
          options={command.options}
          path={`${path}/options`}
          faults={faults}
          onChange={(options, structural) => onChange({ ...command, options }, structural)}
        />
      )}
    </div>
  );
}
