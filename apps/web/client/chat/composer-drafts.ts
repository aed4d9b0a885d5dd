import { type Signal, signal } from '@preact/signals';
import type { CommandOption, PickerCommand } from '../../../../lib/contract/command.ts';
import type { ApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { myId } from '../../state/session.ts';
import { type StoredEdit, storedDraft, storeEdit, storeText, withEdit } from '../../state/stored-drafts.ts';
import type { Meaning } from './composer-tokens.ts';

/** A file to send. `id` distinguishes two files with the same name. */
export interface DraftFile {
  id: string;
  file: File;
}

/** Wraps files with ids, as a draft stores them. */
export const draftFilesOf = (files: readonly File[]): DraftFile[] => files.map((file) => ({ id: newKey(), file }));

/** The content of an option field: the displayed text, and the id of the chosen object. */
export interface FieldValue {
  text: string;
  id?: string;
}

/** A slash command whose options are being filled in. */
export interface CommandFormState {
  command: PickerCommand;
  values: Signal<ReadonlyMap<string, FieldValue>>;
  /** The names of the optional options that have a field. */
  added: Signal<readonly string[]>;
  error: Signal<ApiError | null>;
}

/** Why a command that was typed as text was not sent: it was refused, it does not exist, or several commands have this name. */
export type CommandLineError =
  | { kind: 'refused'; error: ApiError }
  | { kind: 'unknown'; name: string }
  | { kind: 'several'; commands: readonly PickerCommand[] };

/** The draft of a channel. The browser stores the text, its tokens and the edits; the rest is lost with the page. */
export interface ChannelDraft {
  text: Signal<string>;
  files: Signal<readonly DraftFile[]>;
  /** The meanings of the readable words in the text. */
  tokens: Map<string, Meaning>;
  /** The half-written edits of messages, oldest first. */
  edits: Signal<readonly StoredEdit[]>;
  /** Whether the reply pings the author of the original. */
  isPinging: Signal<boolean>;
  commandForm: Signal<CommandFormState | null>;
  commandError: Signal<CommandLineError | null>;
  /** The last command that was sent and may have been stored, with its key. Sending the same one again uses the same key. */
  lastRun: { body: string; key: string } | null;
}

const maxDrafts = 50;
const drafts = new Map<string, ChannelDraft>();

/** Returns the draft of a channel, empty at first. At most fifty drafts are kept in memory; the least recently used one is dropped. */
export function draftOf(channelId: string): ChannelDraft {
  const draft = drafts.get(channelId) ?? createDraft(channelId);
  drafts.delete(channelId);
  drafts.set(channelId, draft);
  if (drafts.size > maxDrafts) drafts.delete(drafts.keys().next().value ?? '');
  return draft;
}

function createDraft(channelId: string): ChannelDraft {
  const stored = storedDraft(myId(), channelId);
  const draft: ChannelDraft = {
    text: signal(stored?.text ?? ''),
    files: signal<readonly DraftFile[]>([]),
    tokens: new Map<string, Meaning>(stored?.tokens),
    edits: signal<readonly StoredEdit[]>(stored?.edits ?? []),
    isPinging: signal(true),
    commandForm: signal<CommandFormState | null>(null),
    commandError: signal<CommandLineError | null>(null),
    lastRun: null,
  };
  const { text, tokens } = draft;
  let isFirst = true;
  text.subscribe(() => {
    if (!isFirst) storeText(myId(), channelId, () => ({ text: text.peek(), tokens: [...tokens] }));
    isFirst = false;
  });
  return draft;
}

/** Keeps a half-written edit in place of the previous one of the same message; without `edit`, there is none any more. */
export function keepEdit(channelId: string, messageId: string, edit?: StoredEdit): void {
  const { edits } = draftOf(channelId);
  if (!edit && !edits.peek().some((one) => one.messageId === messageId)) return;
  edits.value = withEdit(edits.peek(), messageId, edit);
  storeEdit(myId(), channelId, messageId, edit);
}

/**
 * Opens the form for a command. `rest` is the text that was typed after its name, and becomes the value of the first field. If all options are optional, the
 * first one has a field, so that there is one to type in.
 */
export function openCommandForm(draft: ChannelDraft, command: PickerCommand, rest: string): void {
  const first = command.options?.[0];
  const hasRequired = command.options?.some(({ required }) => required) === true;
  const initialValues = first && rest !== '' ? ([[first.name, { text: rest }]] as const) : [];
  draft.commandForm.value = {
    command,
    values: signal<ReadonlyMap<string, FieldValue>>(new Map(initialValues)),
    added: signal<readonly string[]>(first && (rest !== '' || !hasRequired) && !first.required ? [first.name] : []),
    error: signal<ApiError | null>(null),
  };
  draft.text.value = '';
  draft.commandError.value = null;
}

/** Returns the options of a command that have a field now, in the order of the command. */
export const fieldsOf = ({ command, added }: CommandFormState): CommandOption[] =>
  (command.options ?? []).filter(({ name, required }) => required || added.value.includes(name));
