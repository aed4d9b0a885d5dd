import { ArrowDown, ArrowUp, Trash2 } from 'lucide';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { type DraftOption, newOption, optionTypes } from './draft.ts';
import { type Faults, faultAt } from './faults.ts';
import { moved, refocus, replaced, without } from './lists.ts';

function OptionFields({
  option,
  path,
  faults,
  onChange,
}: {
  option: DraftOption;
  path: string;
  faults: Faults;
  onChange: (option: DraftOption) => void;
}): JSX.Element {
  const required = faultAt(faults, `${path}/required`);
  return (
    <div class="command-fields">
      <TextField
        label="Name"
        autocomplete="off"
        value={option.name}
        onValue={(name) => onChange({ ...option, name })}
        error={faultAt(faults, `${path}/name`)}
      />
      <SelectField
        label="Type"
        value={option.type}
        options={optionTypes}
        onValue={(type) => onChange({ ...option, type })}
        error={faultAt(faults, `${path}/type`)}
      />
      <TextField
        label="Description"
        autocomplete="off"
        value={option.description}
        onValue={(description) => onChange({ ...option, description })}
        error={faultAt(faults, `${path}/description`)}
      />
      <div>
        <CheckField label="Required" checked={option.required} onChecked={(checked) => onChange({ ...option, required: checked })} />
        {required && <p class="field-error">{required}</p>}
      </div>
    </div>
  );
}

/** The options of a slash command, in the order in which the picker shows them. `path` is the JSON pointer of the list. */
export function OptionEditor({
  options,
  path,
  faults,
  onChange,
}: {
  options: readonly DraftOption[];
  path: string;
  faults: Faults;
  /** `structural` is true when options were added, removed or moved, so that JSON pointers refer to other options now. */
  onChange: (options: readonly DraftOption[], structural: boolean) => void;
}): JSX.Element {
  const own = faultAt(faults, path);
  return (
    <fieldset class="command-options">
      <legend>Options</legend>
      {own && <p class="field-error">{own}</p>}
      {options.length > 0 && <p class="hint">Required options come first. People fill them in as “name: value”.</p>}
      <ol>
        {options.map((option, at) => (
          <li key={option.key}>
            <OptionFields
              option={option}
              path={`${path}/${at}`}
              faults={faults}
              onChange={(next) => onChange(replaced(options, at, next), false)}
            />
            <div class="command-moves">
              <IconButton
                of={ArrowUp}
                label={`Move option ${option.name || at + 1} up`}
                disabled={at === 0}
                onClick={refocus(() => onChange(moved(options, at, -1), true))}
              />
              <IconButton
                of={ArrowDown}
                label={`Move option ${option.name || at + 1} down`}
                disabled={at === options.length - 1}
                onClick={refocus(() => onChange(moved(options, at, 1), true))}
              />
              <IconButton
                of={Trash2}
                label={`Remove option ${option.name || at + 1}`}
                onClick={() => onChange(without(options, at), true)}
              />
            </div>
          </li>
        ))}
      </ol>
      <Button disabled={options.length >= limits.optionsPerCommand} onClick={() => onChange([...options, newOption()], true)}>
        Add option
      </Button>
      {options.length >= limits.optionsPerCommand && <span class="hint"> A command has at most {limits.optionsPerCommand}.</span>}
    </fieldset>
  );
}
