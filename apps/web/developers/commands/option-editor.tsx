import { ArrowDown, ArrowUp, Trash2 } from 'lucide';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { type DraftOption, newOption, optionTypes } from './draft.ts';
import { errorAt, type FieldErrors } from './field-errors.ts';
import { moved, refocus, replaced, without } from './lists.ts';

function OptionFields({
  option,
  path,
  errors,
  onChange,
}: {
  option: DraftOption;
  path: string;
  errors: FieldErrors;
  onChange: (option: DraftOption) => void;
}): JSX.Element {
  const requiredError = errorAt(errors, `${path}/required`);
  return (
    <div class="command-fields">
      <TextField
        label="Name"
        autocomplete="off"
        value={option.name}
        onValue={(name) => onChange({ ...option, name })}
        error={errorAt(errors, `${path}/name`)}
      />
      <SelectField
        label="Type"
        value={option.type}
        options={optionTypes}
        onValue={(type) => onChange({ ...option, type })}
        error={errorAt(errors, `${path}/type`)}
      />
      <TextField
        label="Description"
        autocomplete="off"
        value={option.description}
        onValue={(description) => onChange({ ...option, description })}
        error={errorAt(errors, `${path}/description`)}
      />
      <div>
        <CheckField label="Required" checked={option.required} onChecked={(checked) => onChange({ ...option, required: checked })} />
        {requiredError && <p class="field-error">{requiredError}</p>}
      </div>
    </div>
  );
}

/** The options of a slash command, in the order in which the picker shows them. `path` is the JSON pointer of the list. */
export function OptionEditor({
  options,
  path,
  errors,
  onChange,
}: {
  options: readonly DraftOption[];
  path: string;
  errors: FieldErrors;
  /** `structural` is true when options were added, removed or moved, so that JSON pointers refer to other options now. */
  onChange: (options: readonly DraftOption[], structural: boolean) => void;
}): JSX.Element {
  const ownError = errorAt(errors, path);
  return (
    <fieldset class="command-options">
      <legend>Options</legend>
      {ownError && <p class="field-error">{ownError}</p>}
      {options.length > 0 && <p class="hint">Required options must come first. People enter options as “name: value”.</p>}
      <ol>
        {options.map((option, at) => (
          <li key={option.key}>
            <OptionFields
              option={option}
              path={`${path}/${at}`}
              errors={errors}
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
      {options.length >= limits.optionsPerCommand && (
        <span class="hint"> A command can have at most {limits.optionsPerCommand} options.</span>
      )}
    </fieldset>
  );
}
