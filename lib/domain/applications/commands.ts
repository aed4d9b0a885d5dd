import { type FieldError, refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isBlank, toWellFormed } from '../../base/text.ts';
import type { Command, CommandInput } from '../../contract/command.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { Platform } from '../../store/platform.ts';
import { requireOwnApplication } from '../access/application-ownership.ts';
import { type Actor, loadServerAccess } from '../access/checks.ts';
import { changeBot, toCommandListId } from './bots.ts';

/** Identifies a list of commands: an application's list for everywhere, or its list for one server. */
export interface CommandScope {
  applicationId: string;
  /** null: everywhere the bot is. */
  serverId: string | null;
}

/**
 * Refuses unless `actor` may manage the scope. A server's scope is refused with 404 if the bot is not in that server. Returns the id of the scope's document,
 * and of the bot.
 */
async function requireScope(
  platform: Platform,
  actor: Actor,
  { applicationId, serverId }: CommandScope,
): Promise<{ _id: string; botId: string }> {
  const { botId } = await requireOwnApplication(platform, actor, applicationId);
  if (serverId !== null) {
    const access = isId(serverId) ? await loadServerAccess(platform, serverId, await actor.versionOf(serverId)) : null;
    if (!(await access?.member(botId))) refuse('not_found', { what: 'server' });
  }
  return { _id: toCommandListId(applicationId, serverId), botId };
}

/** A value of which nothing is known but that it may be an object; what is missing or of another type is reported by the schema. */
type Unchecked = Record<string, unknown>;
/** The objects in a list with their positions, of the first `most` items: a longer list is refused by the schema. */
const toObjects = (list: unknown, most: number): [at: number, item: Unchecked][] =>
  (Array.isArray(list) ? list.slice(0, most) : []).flatMap((item: unknown, at) =>
    item !== null && typeof item === 'object' && !Array.isArray(item) ? [[at, item as Unchecked] as [number, Unchecked]] : [],
  );

function findOptionErrors(options: unknown, path: string): FieldError[] {
  const names = new Set<unknown>();
  let hasOptional = false;
  return toObjects(options, limits.optionsPerCommand).flatMap(([at, { name, description, required }]) => {
    const errors: FieldError[] = [];
    if (name !== undefined && names.has(name))
      errors.push({ path: `${path}/${at}/name`, message: 'Another option of this command has this name.' });
    names.add(name);
    if (typeof description === 'string' && isBlank(description))
      errors.push({ path: `${path}/${at}/description`, message: 'Enter a description.' });
    if (required === true && hasOptional)
      errors.push({ path: `${path}/${at}/required`, message: 'Required options must come before optional ones.' });
    hasOptional ||= required !== true;
    return errors;
  });
}

function findSlashErrors({ name, description, prefix, options }: Unchecked, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (typeof name === 'string' && !/^[a-z0-9_-]+$/.test(name))
    errors.push({ path: `${path}/name`, message: 'Use only lowercase letters, digits, - and _.' });
  if (description === undefined) errors.push({ path: `${path}/description`, message: 'This field is required.' });
  else if (typeof description === 'string' && isBlank(description))
    errors.push({ path: `${path}/description`, message: 'Enter a description.' });
  if (prefix !== undefined) errors.push({ path: `${path}/prefix`, message: 'Only prefix commands have a prefix.' });
  return [...errors, ...findOptionErrors(options, `${path}/options`)];
}

function findPrefixErrors({ name, prefix, options }: Unchecked, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (typeof name === 'string' && /\s/.test(name)) errors.push({ path: `${path}/name`, message: 'The name cannot contain spaces.' });
  if (prefix === undefined) errors.push({ path: `${path}/prefix`, message: 'A prefix command needs a prefix.' });
  if (options !== undefined) errors.push({ path: `${path}/options`, message: 'Only slash commands have options.' });
  return errors;
}

/**
 * Returns the errors in a list of commands that the schema does not find. The paths are JSON pointers into the list
 * (docs/behavior/interactions.md#command-lists). Takes any value.
 */
export function findCommandErrors(list: unknown): FieldError[] {
  const names = new Set<string>();
  return toObjects(list, limits.commandsPerScope).flatMap(([at, command]) => {
    const path = `/${at}`;
    const { name, kind = 'slash' } = command;
    const errors = kind === 'prefix' ? findPrefixErrors(command, path) : kind === 'slash' ? findSlashErrors(command, path) : [];
    if (typeof name !== 'string') return errors;
    const key = `${String(kind)} ${toWellFormed(name)}`; // as the database stores it: a lone surrogate becomes U+FFFD
    if (names.has(key)) errors.push({ path: `${path}/name`, message: `Another ${String(kind)} command has this name.` });
    names.add(key);
    return errors;
  });
}

/** Makes a command as it is stored, with its defaults. Only fields of the schema are copied. */
function toCommand(input: CommandInput, id: string): Command {
  const { name, description = '', prefix = '' } = input;
  if (input.kind === 'prefix') return { id, name, description, kind: 'prefix', prefix };
  const options = (input.options ?? []).map((option) => ({
    name: option.name,
    description: option.description,
    type: option.type ?? 'string',
    required: option.required ?? false,
  }));
  return { id, name, description, kind: 'slash', options };
}

/** The update that replaces a list in one write. A command keeps the stored id of a command with the same kind and name. */
function replacementUpdate(commands: readonly Command[]): object[] {
  const isSameCommand = { $and: [{ $eq: ['$$old.kind', '$$new.kind'] }, { $eq: ['$$old.name', '$$new.name'] }] };
  const existing = { $first: { $filter: { input: '$commands', as: 'old', cond: isSameCommand } } };
  const keptId = { $cond: [{ $eq: [{ $type: '$$existing.id' }, 'string'] }, { id: '$$existing.id' }, {}] };
  const merged = { $mergeObjects: ['$$new', { $let: { vars: { existing }, in: keptId } }] };
  return [{ $set: { commands: { $map: { input: { $literal: commands }, as: 'new', in: merged } } } }];
}

/**
 * Replaces the list of a scope. A missing document is inserted first. There is no upsert, because on DocumentDB two concurrent upserts may both report a new
 * document.
 */
async function writeCommands(
  { db }: Platform,
  { _id, applicationId, serverId }: CommandScope & { _id: string },
  commands: readonly Command[],
): Promise<Command[]> {
  for (;;) {
    const found = await db.commands.findOneAndUpdate({ _id }, replacementUpdate(commands), {
      returnDocument: 'after',
    });
    if (found) return found.commands;
    await insertNew(db.commands, { _id, applicationId, serverId, commands: [] });
  }
}

/** The commands of one scope (docs/behavior/interactions.md#command-lists). Refuses with `not_found` and `not_owner`. */
export async function listCommands(platform: Platform, actor: Actor, scope: CommandScope): Promise<Command[]> {
  const { _id } = await requireScope(platform, actor, scope);
  return (await platform.db.commands.findOne({ _id }))?.commands ?? [];
}

/**
 * Replaces all commands of one scope by one write (docs/behavior/interactions.md#command-lists). The caller has checked them by `CommandsInput` and
 * `findCommandErrors`. A command of the same kind and name keeps its id. Refuses with `not_found` and `not_owner`.
 */
export async function replaceCommands(
  platform: Platform,
  actor: Actor,
  input: CommandScope & { commands: readonly CommandInput[] },
): Promise<Command[]> {
  const { _id, botId } = await requireScope(platform, actor, input);
  const commands = input.commands.map((one) => toCommand(one, platform.ids.next()));
  return changeBot(platform, botId, () => writeCommands(platform, { ...input, _id }, commands));
}

/**
 * Removes one command from the list that contains it, of either scope (docs/behavior/interactions.md#command-lists). Refuses with `not_found` and `not_owner`.
 */
export async function removeCommand(
  platform: Platform,
  actor: Actor,
  { applicationId, commandId }: { applicationId: string; commandId: string },
): Promise<void> {
  const { botId } = await requireOwnApplication(platform, actor, applicationId);
  if (!isId(commandId)) refuse('not_found', { what: 'command' });
  const { modifiedCount } = await changeBot(platform, botId, () =>
    platform.db.commands.updateOne({ applicationId, 'commands.id': commandId }, { $pull: { commands: { id: commandId } } }),
  );
  if (modifiedCount === 0) refuse('not_found', { what: 'command' });
}
