import { useSignal } from '@preact/signals';
import { ArrowDown, ArrowUp, Trash2 } from 'lucide';
import { Fragment, type JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { CommandEditor } from './command-editor.tsx';
import { type DraftCommand, newCommand } from './draft.ts';
import { countErrorsUnder, type FieldErrors } from './field-errors.ts';
import { moved, refocus, replaced, without } from './lists.ts';

const displayName = ({ kind, prefix, name }: DraftCommand): string => `${kind === 'slash' ? '/' : prefix}${name}`;

const optionsOf = ({ kind, options }: DraftCommand): string =>
  kind === 'prefix' ? '' : options.map(({ name, required }) => (required ? name || '…' : `[${name || '…'}]`)).join(' ') || 'none';

/** A table of commands, with an editor below each open row. A command with errors opens automatically. */
export function CommandTable({
  list,
  errors,
  onChange,
}: {
  list: readonly DraftCommand[];
  errors: FieldErrors;
  /** `structural` is true when something was added, removed or moved, so that JSON pointers refer to other items now. */
  onChange: (list: readonly DraftCommand[], structural: boolean) => void;
}): JSX.Element {
  const open = useSignal<number | null>(null);
  useEffect(() => {
    const hasOpenError = list.some(({ key }, at) => key === open.value && countErrorsUnder(errors, `/${at}`) > 0);
    const first = list.find((_command, at) => countErrorsUnder(errors, `/${at}`) > 0);
    if (first && !hasOpenError) open.value = first.key;
  }, [errors]);
  const add = (): void => {
    const command = newCommand();
    open.value = command.key;
    onChange([...list, command], true);
  };
  const isFull = list.length >= limits.commandsPerScope;
  return (
    <>
      {list.length === 0 && <p class="portal-card">No commands yet.</p>}
      {list.length > 0 && (
        <table class="command-table">
          <caption class="visually-hidden">Commands in the order in which they are saved</caption>
          <thead>
            <tr>
              <th scope="col">Command</th>
              <th scope="col">Description</th>
              <th scope="col">Options</th>
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((command, at) => {
              const errorCount = countErrorsUnder(errors, `/${at}`);
              const isOpen = open.value === command.key;
              const name = command.name === '' ? `command ${at + 1}` : displayName(command);
              return (
                <Fragment key={command.key}>
                  <tr class={errorCount ? 'invalid' : ''}>
                    <th scope="row">
                      <code>{name}</code>
                      {errorCount > 0 && <span class="field-error"> {countOf(errorCount, 'error')}</span>}
                    </th>
                    <td>{command.description}</td>
                    <td>{optionsOf(command)}</td>
                    <td class="command-moves">
                      <Button
                        aria-expanded={isOpen}
                        aria-label={`${isOpen ? 'Close' : 'Edit'} ${name}`}
                        onClick={() => (open.value = isOpen ? null : command.key)}
                      >
                        {isOpen ? 'Close' : 'Edit'}
                      </Button>
                      <IconButton
                        of={ArrowUp}
                        label={`Move ${name} up`}
                        disabled={at === 0}
                        onClick={refocus(() => onChange(moved(list, at, -1), true))}
                      />
                      <IconButton
                        of={ArrowDown}
                        label={`Move ${name} down`}
                        disabled={at === list.length - 1}
                        onClick={refocus(() => onChange(moved(list, at, 1), true))}
                      />
                      <IconButton of={Trash2} label={`Remove ${name}`} onClick={() => onChange(without(list, at), true)} />
                    </td>
                  </tr>
                  {isOpen && (
                    <tr>
                      <td colSpan={4} class="command-open">
                        <CommandEditor
                          command={command}
                          path={`/${at}`}
                          errors={errors}
                          onChange={(next, structural) => onChange(replaced(list, at, next), structural)}
                        />
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      )}
      <div>
        <Button disabled={isFull} onClick={add}>
          Add command
        </Button>
        {isFull && <span class="hint"> A list can have at most {limits.commandsPerScope} commands.</span>}
      </div>
    </>
  );
}
