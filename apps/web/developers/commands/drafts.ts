import { effect, signal } from '@preact/signals';
import type { Command } from '../../../../lib/contract/command.ts';
import { bodyOf, type DraftCommand, draftOf, jsonOf } from './draft.ts';

/** A list of commands that is being edited, in the table or as JSON: `mode` says which of the two counts. */
export interface Draft {
  saved: readonly Command[];
  mode: 'table' | 'json';
  list: readonly DraftCommand[];
  text: string;
}

/** Which list: everywhere (`all`), or the one of a server. */
export type Scope = string;

/** The drafts of this page's life: whoever looks at another page of the portal finds them as they were. */
const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

const keyOf = (applicationId: string, scope: Scope): string => `${applicationId}:${scope}`;

/** The draft of one list; undefined until it was read. */
export const draftAt = (applicationId: string, scope: Scope): Draft | undefined => drafts.value.get(keyOf(applicationId, scope));

/** Takes in a draft as it stands now. */
export function putDraft(applicationId: string, scope: Scope, draft: Draft): void {
  drafts.value = new Map(drafts.value).set(keyOf(applicationId, scope), draft);
}

/** A draft that is the saved list. */
export const freshDraft = (saved: readonly Command[], mode: Draft['mode']): Draft => {
  const list = draftOf(saved);
  return { saved, mode, list, text: jsonOf(bodyOf(list)) };
};

/** Whether a draft differs from what is saved. */
export const isDirty = ({ saved, mode, list, text }: Draft): boolean =>
  (mode === 'json' ? text : jsonOf(bodyOf(list))) !== jsonOf(bodyOf(draftOf(saved)));

/** Whether any list of an application has changes that are not saved. */
export const isUnsaved = (applicationId: string): boolean =>
  [...drafts.value].some(([key, draft]) => key.startsWith(`${applicationId}:`) && isDirty(draft));

const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

// The browser asks before the page is left with something unsaved; the listener stands only then, as it costs the page its place in the back-forward cache.
effect(() => {
  if ([...drafts.value.values()].some(isDirty)) window.addEventListener('beforeunload', ask);
  else window.removeEventListener('beforeunload', ask);
});
