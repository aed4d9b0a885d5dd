import type { ChangeCommand } from '../../../lib/domain/operators/changes.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import { type Html, html } from '../html.ts';

/** A field of a form. */
export interface Field {
  name: string;
  label: string;
  hint: string;
  maxChars: number;
  isRequired: boolean;
  /** The values that can be chosen, with their names. Without them any text. */
  choices?: Readonly<Record<string, string>>;
}

/** The text in the fields of a form, by name, trimmed. Empty fields are absent. */
export type FieldValues = Readonly<Record<string, string>>;

/** A change of an account or a server `T`: a form that says what will happen, and the command that it runs. */
export interface Action<T> {
  /** The link to the form, its heading and its button. */
  label: string;
  /** What will happen. */
  about: string;
  fields: readonly Field[];
  /** Whether the page of `target` links to it. */
  isOffered: (target: T) => boolean;
  /** Whether `target` is gone afterwards, so that the list is shown next instead of its page. */
  isFinal?: true;
  /** The command for these values. Rejects with a `Refusal` if a value is not valid. */
  toCommand: (target: T, values: FieldValues, platform: OpsPlatform) => ChangeCommand | Promise<ChangeCommand>;
}

const renderChoices = ({ name }: Field, choices: NonNullable<Field['choices']>, chosen: string): Html =>
  html`<select id="${name}" name="${name}" aria-describedby="${name}-hint">${Object.entries(choices).map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : null}>${text}</option>`,
  )}</select>`;

const renderText = ({ name, maxChars, isRequired }: Field, value: string): Html =>
  html`<input id="${name}" name="${name}" value="${value}" maxlength="${maxChars}"${isRequired ? html` required` : null} aria-describedby="${name}-hint" autocomplete="off" spellcheck="false" autocapitalize="none">`;

const renderField = (field: Field, value: string): Html => html`<p class="field">
<label for="${field.name}">${field.label}</label>
${field.choices ? renderChoices(field, field.choices, value) : renderText(field, value)}
<span id="${field.name}-hint">${field.hint}</span>
</p>`;

/** The form of an action at its own address, with these values. `back` is the address of the page that links to it. */
export const renderForm = <T>({ label, about, fields }: Action<T>, back: string, values: FieldValues, error: string | null): Html =>
  html`<p>${about}</p>
${
  error === null
    ? null
    : html`<p class="error" role="alert">${error}</p>
`
}<form class="action" method="post">
${fields.map((field) => renderField(field, values[field.name] ?? ''))}
<p class="buttons"><button class="danger">${label}</button> <a href="${back}">Cancel</a></p>
</form>`;

/** The links to the forms of the actions that `target` offers. `path` is the address of the page. */
export function renderActions<T>(actions: Readonly<Record<string, Action<T>>>, path: string, target: T): Html | null {
  const offered = Object.entries(actions).filter(([, { isOffered }]) => isOffered(target));
  if (offered.length === 0) return null;
  return html`<section aria-labelledby="actions">
<h2 id="actions">Actions</h2>
<ul class="actions">${offered.map(
    ([name, { label, about }]) => html`
<li><a href="${path}/${name}">${label}…</a> ${about}</li>`,
  )}
</ul>
</section>`;
}
