import { effect, signal } from '@preact/signals';
import type { Command } from '../../../../lib/contract/command.ts';
import { setUnsaved } from '../../ui/unsaved.tsx';
import { bodyOf, type DraftCommand, draftOf, jsonOf } from './draft.ts';

/** A list of commands that is being edited, in the table or as JSON. `mode` says which of the two is current. */
export interface Draft {
  saved: readonly Command[];
  mode: 'table' | 'json';
  list: readonly DraftCommand[];
  text: string;
}

/** The scope of a list: `all` for the global list, or the id of a server. */
export type Scope = string;

/** The drafts of this page, kept until it is closed, so that they survive a visit to another page of the portal. */
const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

const keyOf = (applicationId: string, scope: Scope): string => `${applicationId}:${scope}`;

/** Returns the draft of one list; undefined until it is loaded. */
export const draftAt = (applicationId: string, scope: Scope): Draft | undefined => drafts.value.get(keyOf(applicationId, scope));

/** Stores a draft. */
export function putDraft(applicationId: string, scope: Scope, draft: Draft): void {
  drafts.value = new Map(drafts.value).set(keyOf(applicationId, scope), draft);
}

/** Returns a draft without changes to the saved list. */
export const freshDraft = (saved: readonly Command[], mode: Draft['mode']): Draft => {
  const list = draftOf(saved);
  return { saved, mode, list, text: jsonOf(bodyOf(list)) };
};

/** Whether a draft differs from the saved list. */
export const isDirty = ({ saved, mode, list, text }: Draft): boolean =>
  (mode === 'json' ? text : jsonOf(bodyOf(list))) !== jsonOf(bodyOf(draftOf(saved)));

/** Whether any list of an application has unsaved changes. */
export const isUnsaved = (applicationId: string): boolean =>
  [...drafts.value].some(([key, draft]) => key.startsWith(`${applicationId}:`) && isDirty(draft));

// The drafts are kept while the portal is open, so only the browser asks.
effect(() => setUnsaved('commands', [...drafts.value.values()].some(isDirty), 'document'));
