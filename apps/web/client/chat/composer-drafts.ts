import { type Signal, signal } from '@preact/signals';
import type { CommandOption, PickerCommand } from '../../../../lib/contract/command.ts';
import type { ApiError } from '../../api/call.ts';
import { newKey } from '../../api/key.ts';
import { myId } from '../../state/session.ts';
import { storedDraft, storeSoon } from '../../state/stored-drafts.ts';
import type { Meaning } from './composer-tokens.ts';

/** A file to be sent; `id` tells two of one name apart. */
export interface Picked {
  id: string;
  file: File;
}

/** Files as a draft holds them. */
export const picked = (files: readonly File[]): Picked[] => files.map((file) => ({ id: newKey(), file }));

/** What stands in the field of an option: what is read there, and the id of who or what was chosen. */
export interface Filled {
  text: string;
  id?: string;
}

/** A slash command whose options are being filled in. */
export interface Filling {
  command: PickerCommand;
  values: Signal<ReadonlyMap<string, Filled>>;
  /** The optional options that have a field. */
  added: Signal<readonly string[]>;
  error: Signal<ApiError | null>;
}

/** Why a command that was typed as text was not sent: refused, no such command, or several of one name. */
export type LineFault =
  | { kind: 'refused'; error: ApiError }
  | { kind: 'unknown'; name: string }
  | { kind: 'several'; commands: readonly PickerCommand[] };

/** What is being written in a channel. The browser keeps the text; the rest goes with the page. */
export interface ChannelDraft {
  text: Signal<string>;
  files: Signal<readonly Picked[]>;
  /** What the readable words of the text stand for. */
  tokens: Map<string, Meaning>;
  /** Whether the reply pings its author. */
  pings: Signal<boolean>;
  filling: Signal<Filling | null>;
  lineFault: Signal<LineFault | null>;
  /** The last use of a command that may have been stored, with its key: the same again goes under the same key. */
  lastUse: { body: string; key: string } | null;
}

const mostDrafts = 50;
const drafts = new Map<string, ChannelDraft>();

/** What is being written in a channel, empty at first. Those not looked at for the longest are forgotten past fifty. */
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

/** Begins to fill in a command; `rest` is what was typed behind its name already, and stands in the first field. */
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

/** The options of a command that have a field now, in its order. */
export const fieldsOf = ({ command, added }: Filling): CommandOption[] =>
  (command.options ?? []).filter(({ name, required }) => required || added.value.includes(name));
