import { type Signal, signal } from '@preact/signals';
import type { CommandOption, PickerCommand } from '../../../../lib/contract/command.ts';
import type { ApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { myId } from '../../state/session.ts';
import { storedDraft, storeSoon } from '../../state/stored-drafts.ts';
import type { Meaning } from './composer-tokens.ts';

/** A file to send. `id` distinguishes two files with the same name. */
export interface Picked {
  id: string;
  file: File;
}

/** Wraps files with ids, as a draft stores them. */
export const picked = (files: readonly File[]): Picked[] => files.map((file) => ({ id: newKey(), file }));

/** The content of an option field: the displayed text, and the id of the chosen object. */
export interface Filled {
  text: string;
  id?: string;
}

/** A slash command whose options are being filled in. */
export interface Filling {
  command: PickerCommand;
  values: Signal<ReadonlyMap<string, Filled>>;
  /** The names of the optional options that have a field. */
  added: Signal<readonly string[]>;
  error: Signal<ApiError | null>;
}

/** Why a command that was typed as text was not sent: it was refused, it does not exist, or several commands have this name. */
export type LineFault =
  | { kind: 'refused'; error: ApiError }
  | { kind: 'unknown'; name: string }
  | { kind: 'several'; commands: readonly PickerCommand[] };

/** The draft of a channel. The browser stores the text and its tokens; the rest is lost with the page. */
export interface ChannelDraft {
  text: Signal<string>;
  files: Signal<readonly Picked[]>;
  /** The meanings of the readable words in the text. */
  tokens: Map<string, Meaning>;
  /** Whether the reply pings the author of the original. */
  pings: Signal<boolean>;
  filling: Signal<Filling | null>;
  lineFault: Signal<LineFault | null>;
  /** The last command that was sent and may have been stored, with its key. Sending the same one again uses the same key. */
  lastUse: { body: string; key: string } | null;
}

const mostDrafts = 50;
const drafts = new Map<string, ChannelDraft>();

/** Returns the draft of a channel, empty at first. At most fifty drafts are kept in memory; the least recently used one is dropped. */
export function draftOf(channelId: string): ChannelDraft {
  const draft = drafts.get(channelId) ?? beginDraft(channelId);
  drafts.delete(channelId);
  drafts.set(channelId, draft);
  if (drafts.size > mostDrafts) drafts.delete(drafts.keys().next().value ?? '');
  return draft;
}

function beginDraft(channelId: string): ChannelDraft {
  const stored = storedDraft(myId(), channelId);
  const draft: ChannelDraft = {
    text: signal(stored?.text ?? ''),
    files: signal<readonly Picked[]>([]),
    tokens: new Map<string, Meaning>(stored?.tokens),
    pings: signal(true),
    filling: signal<Filling | null>(null),
    lineFault: signal<LineFault | null>(null),
    lastUse: null,
  };
  const { text, tokens } = draft;
  let isFirst = true;
  text.subscribe(() => {
    if (!isFirst) storeSoon(myId(), channelId, () => ({ text: text.peek(), tokens: [...tokens] }));
    isFirst = false;
  });
  return draft;
}

/** Opens the form for a command. `rest` is the text that was typed after its name, and becomes the value of the first field. */
export function startFilling(draft: ChannelDraft, command: PickerCommand, rest: string): void {
  const first = command.options?.[0];
  const begun = first && rest !== '' ? ([[first.name, { text: rest }]] as const) : [];
  draft.filling.value = {
    command,
    values: signal<ReadonlyMap<string, Filled>>(new Map(begun)),
    added: signal<readonly string[]>(begun.length && !first?.required ? [first?.name ?? ''] : []),
    error: signal<ApiError | null>(null),
  };
  draft.text.value = '';
  draft.lineFault.value = null;
}

/** Returns the options of a command that have a field now, in the order of the command. */
export const fieldsOf = ({ command, added }: Filling): CommandOption[] =>
  (command.options ?? []).filter(({ name, required }) => required || added.value.includes(name));
