import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Application } from '../../../../lib/contract/application.ts';
import type { Command } from '../../../../lib/contract/command.ts';
import { call, path } from '../../api/call.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { bind, SelectField, useTask } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { showToast } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { findBot } from '../applications.ts';
import { Frame } from '../frame.tsx';
import { CommandTable } from './command-table.tsx';
import { CommandsJson } from './commands-json.tsx';
import { bodyOf, changesOf, jsonOf, readDraft, UnsupportedJson } from './draft.ts';
import { type Draft, draftAt, freshDraft, isDirty, putDraft, type Scope } from './drafts.ts';
import type { FieldErrors } from './field-errors.ts';
import { readJson } from './json-lines.ts';

const listPath = (id: string, scope: Scope): string =>
  scope === 'all' ? path`/api/applications/${id}/commands` : path`/api/applications/${id}/servers/${scope}/commands`;

const noErrors: FieldErrors = [];

/** Describes what saving would change. */
function effectOf(draft: Draft): string {
  const read = draft.mode === 'json' ? readJson(draft.text) : undefined;
  if (read?.ok === false) return 'The JSON is not valid.';
  if (read && !Array.isArray(read.value)) return 'The JSON is not an array.';
  const body = read ? (read.value as ReturnType<typeof bodyOf>) : bodyOf(draft.list);
  const { added, changed, removed } = changesOf(
    draft.saved,
    body.filter((one) => typeof one === 'object' && one !== null),
  );
  if (added + changed + removed === 0) return 'Only the format or order changes.';
  return `Saving adds ${added}, changes ${changed} and removes ${removed}.`;
}

/** The commands of one scope, as a table or as JSON. */
function CommandList({ id, scope }: { id: string; scope: Scope }): JSX.Element {
  const reading = useTask();
  const saving = useTask();
  const errors = useSignal<FieldErrors>(noErrors);
  const tableError = useSignal('');
  const draft = draftAt(id, scope);
  const read = (): void =>
    void reading.run(async () => {
      const saved = await call<Command[]>('GET', listPath(id, scope));
      const known = draftAt(id, scope);
      if (!known || !isDirty(known)) putDraft(id, scope, freshDraft(saved, known?.mode ?? 'table'));
    });
  useEffect(read, []);
  if (!draft) return <Loading of={{ error: reading.error, reload: read }} />;

  const put = (change: Partial<Draft>): void => putDraft(id, scope, { ...draft, ...change });
  const clear = (): void => {
    errors.value = noErrors;
    tableError.value = '';
    saving.clear();
  };
  const toJson = (): void => {
    tableError.value = '';
    put({ mode: 'json', text: jsonOf(bodyOf(draft.list)) });
  };
  const toTable = (): void => {
    const text = readJson(draft.text);
    try {
      if (!text.ok) throw new UnsupportedJson('', `line ${text.line}: ${text.message}`);
      put({ mode: 'table', list: readDraft(text.value) });
      tableError.value = '';
    } catch (error) {
      if (!(error instanceof UnsupportedJson)) throw error;
      tableError.value = `The table can’t show this JSON: ${error.pointer} ${error.message}`;
    }
  };
  const save = (): void => {
    const text = draft.mode === 'json' ? readJson(draft.text) : undefined;
    // Invalid JSON cannot be sent; its error is already shown with its line.
    if (text?.ok === false) return;
    clear();
    void saving
      .run(async () => {
        try {
          const saved = await call<Command[]>('PUT', listPath(id, scope), text ? text.value : bodyOf(draft.list));
          putDraft(id, scope, freshDraft(saved, draft.mode));
        } catch (error) {
          errors.value = (error as { errors?: FieldErrors }).errors ?? noErrors;
          throw error;
        }
      })
      .then((done) => done && showToast('Commands saved. The picker shows them within a minute.'));
  };
  const dirty = isDirty(draft);
  return (
    <>
      <div class="choice" role="group" aria-label="View">
        <Button aria-pressed={draft.mode === 'table'} onClick={() => draft.mode === 'json' && toTable()}>
          Table
        </Button>
        <Button aria-pressed={draft.mode === 'json'} onClick={() => draft.mode === 'table' && toJson()}>
          JSON
        </Button>
      </div>
      {tableError.value && (
        <p class="error-notice" role="alert">
          {tableError.value}
        </p>
      )}
      {draft.mode === 'table' ? (
        <CommandTable
          list={draft.list}
          errors={errors.value}
          onChange={(list, structural) => {
            if (structural) clear();
            put({ list });
          }}
        />
      ) : (
        <CommandsJson text={draft.text} errors={errors.value} onText={(text) => put({ text })} />
      )}
      <p class="hint">
        Saving replaces the whole list and removes commands that are not in it. A command that keeps its kind and name keeps its ID. If a
        command has an error, nothing is saved.
      </p>
      <div class="portal-card commands-save">
        <ErrorNotice error={saving.error} shown={errors.value.filter((one) => /^\/\d/.test(one.path)).map((one) => one.path)} />
        <p role="status">
          {dirty ? (
            <>
              <strong>Unsaved changes.</strong> {effectOf(draft)}
            </>
          ) : (
            'All changes saved.'
          )}
        </p>
        <div class="actions">
          <Button
            disabled={!dirty}
            onClick={() => {
              clear();
              putDraft(id, scope, freshDraft(draft.saved, draft.mode));
            }}
          >
            Discard changes
          </Button>
          <Button variant="main" busy={saving.busy} disabled={!dirty} onClick={save}>
            Save commands
          </Button>
        </div>
      </div>
    </>
  );
}

/** The commands of an application: the global list, or the list of a server that its bot is in. */
function Commands({ application }: { application: Application }): JSX.Element {
  const scope = useSignal<Scope>('all');
  const bot = useLoaded(() => findBot(application), []);
  const options = [
    { value: 'all', label: 'All servers and DMs' },
    ...(bot.value?.servers ?? []).map(({ id, name }) => ({ value: id, label: `Only in ${name}` })),
  ];
  return (
    <>
      <ErrorNotice error={bot.error} />
      <SelectField
        label="Command list"
        hint="A server shows its own commands in addition to the commands for all servers. Only servers that both you and the bot are in are listed."
        options={options}
        {...bind(scope)}
      />
      <CommandList key={scope.value} id={application.id} scope={scope.value} />
    </>
  );
}

/** The commands page of an application. */
export function CommandsPage(): JSX.Element {
  return (
    <Frame page="/commands" title="Commands">
      {(application) => (
        <>
          <p>
            A bot can also register its commands itself: <a href="/developers/reference/commands">Commands in the reference</a>.
          </p>
          <Commands application={application} />
        </>
      )}
    </Frame>
  );
}
