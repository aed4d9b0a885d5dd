import { Plus, SendHorizontal, X } from 'lucide';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { ApiError, asApiError } from '../../api/call.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { ChannelContext } from '../channel-context.ts';
import './command-form.css';
import { valueOf } from './command-line.ts';
import { isSendKey } from './composer-area.ts';
import { type ChannelDraft, type CommandFormState, type FieldValue, fieldsOf } from './composer-drafts.ts';
import { OptionField } from './option-field.tsx';
import { runCommand } from './run-command.ts';

const controls = 'input, textarea, select';

/**
 * Returns the values of the fields as the API expects them. Empty fields are left out, because the API reports which options are required. Throws `ApiError`
 * when a name matches nobody.
 */
function optionsOf(form: CommandFormState): { name: string; value: string | number | boolean }[] {
  const values = form.values.value;
  const filledOptions = fieldsOf(form).filter(({ name }) => (values.get(name)?.text ?? '') !== '');
  const unresolved = filledOptions.filter(
    ({ name, type }) => ['user', 'role', 'channel'].includes(type) && values.get(name)?.id === undefined,
  );
  if (unresolved.length)
    throw new ApiError(400, {
      code: 'invalid_options',
      message: 'The command was not sent.',
      errors: unresolved.map(({ name, type }) => ({
        path: name,
        message: `Choose a ${type === 'user' ? 'person' : type} from the list.`,
      })),
    });
  return filledOptions.map(({ name, type }) => {
    const { text, id } = values.get(name) as FieldValue;
    return { name, value: id ?? valueOf(type, text) };
  });
}

/**
 * Shows the options of a slash command as fields, in place of the composer. Enter sends, Escape closes the form. An error is shown at the option that it
 * concerns.
 */
export function CommandForm({
  context,
  draft,
  form,
  onDone,
}: {
  context: ChannelContext;
  draft: ChannelDraft;
  form: CommandFormState;
  onDone: () => void;
}): JSX.Element {
  const { command, values, added, error } = form;
  const formElement = useRef<HTMLFormElement>(null);
  const task = useTask();
  const fields = fieldsOf(form);
  const unusedOptions = (command.options ?? []).filter((option) => !fields.includes(option));
  const focusOn = (index: number): void => {
    const all = formElement.current?.querySelectorAll<HTMLElement>(controls) ?? [];
    (all[index] ?? formElement.current?.querySelector<HTMLElement>('[type="submit"]'))?.focus();
  };
  // Before the form is painted: keys that are pressed until then would go nowhere.
  useLayoutEffect(
    () =>
      focusOn(
        Math.max(
          0,
          fields.findIndex(({ name }) => !values.value.get(name)?.text),
        ),
      ),
    [command.id],
  );

  const fill = (name: string, value: FieldValue): void => {
    values.value = new Map(values.value).set(name, value);
  };
  const close = (): void => {
    draft.commandForm.value = null;
    onDone();
  };
  const submit = (): void =>
    void task.run(async () => {
      error.value = null;
      try {
        await runCommand(context, draft, command, { options: optionsOf(form) });
      } catch (fault) {
        error.value = asApiError(fault);
        const first = fields.findIndex(({ name }) => error.value?.at(name));
        if (first >= 0) focusOn(first);
        return;
      }
      close();
    });
  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return;
    if (event.key === 'Escape') close();
    else if (isSendKey(event) && (event.target as Element).matches(controls)) submit();
    else return;
    event.preventDefault();
  };
  const add = (name: string): void => {
    added.value = [...added.value, name];
    // The new field exists after the next render, at its position in the order of the command.
    setTimeout(() => focusOn(fieldsOf(form).findIndex((option) => option.name === name)));
  };
  const remove = (name: string): void => {
    added.value = added.value.filter((one) => one !== name);
    const left = new Map(values.value);
    left.delete(name);
    values.value = left;
    setTimeout(() => focusOn(0));
  };

  const names = fields.map(({ name }) => name);
  // Errors that are shown at fields, one of which has the focus, are not shown again below the form.
  const errors = error.value?.errors ?? [];
  const areAllAtFields = errors.length > 0 && errors.every(({ path }) => names.includes(path));

  return (
    <form
      ref={formElement}
      class="command-form"
      aria-label={`Command ${command.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={onKey}
    >
      <header>
        <Avatar id={command.application.id} name={command.application.name} url={command.application.iconUrl} size={32} square />
        <p class="command-title">
          <strong>/{command.name}</strong> <bdi class="soft">{command.application.name}</bdi>
          <br />
          <bdi class="soft">{command.description}</bdi>
        </p>
        <IconButton of={X} label="Cancel command" onClick={close} />
      </header>
      <div class="command-fields">
        {fields.map((option) => (
          <OptionField
            key={option.name}
            option={option}
            context={context}
            value={values.value.get(option.name) ?? { text: '' }}
            onFill={(value) => fill(option.name, value)}
            error={error.value?.at(option.name)}
            onRemove={() => remove(option.name)}
          />
        ))}
      </div>
      {!areAllAtFields && <ErrorNotice error={error.value} shown={names} />}
      <div class="command-actions">
        {unusedOptions.map(({ name, description }) => (
          <Button key={name} variant="quiet" title={description} onClick={() => add(name)}>
            <Icon of={Plus} size="1em" /> {name}
          </Button>
        ))}
        <Button type="submit" variant="main" busy={task.busy}>
          <Icon of={SendHorizontal} /> Send
        </Button>
      </div>
    </form>
  );
}
