import { type FieldError, refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { isBlank, wellFormed } from '../../base/text.ts';
import type { Command, CommandInput } from '../../contract/command.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { CommandsDoc } from '../../store/mongo/models/interaction.ts';
import type { Platform } from '../../store/platform.ts';
import { type Actor, loadServer } from '../members/access.ts';
import { ownApplication } from './applications-owned.ts';

/** Identifies a list of commands: an application's list for everywhere, or its list for one server. */
export interface CommandScope {
  applicationId: string;
  /** null: everywhere the bot is. */
  serverId: string | null;
}

/**
 * Refuses unless `actor` may manage the scope. A server's scope is refused with 404 if the bot is not in that server. Returns the id of the scope's document.
 */
async function openScope(platform: Platform, actor: Actor, { applicationId, serverId }: CommandScope): Promise<string> {
  const application = await ownApplication(platform, actor, applicationId);
  if (serverId === null) return `${applicationId}:all`;
  const access = isId(serverId) ? await loadServer(platform, serverId, await actor.versionOf(serverId)) : null;
  if (!(await access?.member(application.botId))) refuse('not_found', { what: 'server' });
  return `${applicationId}:${serverId}`;
}

function optionFaults(options: NonNullable<CommandInput['options']>, path: string): FieldError[] {
  const names = new Set<string>();
  let optional = false;
  return options.flatMap((option, at) => {
    const faults: FieldError[] = [];
    if (names.has(option.name))
      faults.push({ path: `${path}/${at}/name`, message: 'is already the name of another option of this command' });
    names.add(option.name);
    if (isBlank(option.description)) faults.push({ path: `${path}/${at}/description`, message: 'is empty' });
    if (option.required && optional) faults.push({ path: `${path}/${at}/required`, message: 'must come before the optional options' });
    optional ||= !option.required;
    return faults;
  });
}

function slashFaults(command: CommandInput, path: string): FieldError[] {
  const faults: FieldError[] = [];
  if (!/^[a-z0-9_-]+$/.test(command.name))
    faults.push({ path: `${path}/name`, message: 'can contain only lowercase letters, digits, - and _' });
  if (command.description === undefined) faults.push({ path: `${path}/description`, message: 'is required' });
  else if (isBlank(command.description)) faults.push({ path: `${path}/description`, message: 'is empty' });
  if (command.prefix !== undefined) faults.push({ path: `${path}/prefix`, message: 'is only for prefix commands' });
  return [...faults, ...optionFaults(command.options ?? [], `${path}/options`)];
}

function prefixFaults(command: CommandInput, path: string): FieldError[] {
  const faults: FieldError[] = [];
  if (/\s/.test(command.name)) faults.push({ path: `${path}/name`, message: 'cannot contain spaces' });
  if (command.prefix === undefined) faults.push({ path: `${path}/prefix`, message: 'is required for a prefix command' });
  if (command.options !== undefined) faults.push({ path: `${path}/options`, message: 'are only for slash commands' });
  return faults;
}

/**
 * Returns the faults in a list of commands that the schema does not find. The paths are JSON pointers into the list
 * (docs/behavior/interactions.md#command-lists).
 */
function faultsOfCommands(list: readonly CommandInput[]): FieldError[] {
  const names = new Set<string>();
  return list.flatMap((command, at) => {
    const path = `/${at}`;
    const kind = command.kind ?? 'slash';
    const faults = kind === 'slash' ? slashFaults(command, path) : prefixFaults(command, path);
    const key = `${kind} ${wellFormed(command.name)}`; // as the database stores it: a lone surrogate becomes U+FFFD
    if (names.has(key)) faults.push({ path: `${path}/name`, message: `is already the name of another ${kind} command` });
    names.add(key);
    return faults;
  });
}

/** Makes a command as it is stored, with its defaults. Only fields of the schema are copied. */
function commandOf(input: CommandInput, id: string): Command {
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
function swap(fresh: readonly Command[]): object[] {
  const alike = { $and: [{ $eq: ['$$old.kind', '$$new.kind'] }, { $eq: ['$$old.name', '$$new.name'] }] };
  const standing = { $first: { $filter: { input: '$commands', as: 'old', cond: alike } } };
  const kept = { $cond: [{ $eq: [{ $type: '$$standing.id' }, 'string'] }, { id: '$$standing.id' }, {}] };
  const each = { $mergeObjects: ['$$new', { $let: { vars: { standing }, in: kept } }] };
  return [{ $set: { commands: { $map: { input: { $literal: fresh }, as: 'new', in: each } } } }];
}

/**
 * Replaces the list of a scope. A missing document is inserted first. There is no upsert, because on DocumentDB two concurrent upserts may both report a new
 * document.
 */
async function swapCommands(
  { db }: Platform,
  { _id, applicationId, serverId }: CommandScope & { _id: string },
  fresh: readonly Command[],
): Promise<Command[]> {
  for (;;) {
    const found = await db.commands.collection.findOneAndUpdate({ _id: _id as never }, swap(fresh), { returnDocument: 'after' });
    if (found) return (found as unknown as CommandsDoc).commands;
    await insertNew(db.commands, { _id, applicationId, serverId, commands: [] });
  }
}

/** The commands of one scope (docs/behavior/interactions.md#command-lists). Refuses with `not_found` and `not_owner`. */
export async function listCommands(platform: Platform, actor: Actor, scope: CommandScope): Promise<Command[]> {
  const _id = await openScope(platform, actor, scope);
  return (await platform.db.commands.findOne({ _id }).lean())?.commands ?? [];
}

/**
 * Replaces all commands of one scope (docs/behavior/interactions.md#command-lists). All are checked first, then one write replaces the list; one invalid
 * command leaves the old list. A command of the same kind and name keeps its id. Refuses with `invalid_request` and a path for each fault, with `not_found` and
 * with `not_owner`.
 */
export async function replaceCommands(
  platform: Platform,
  actor: Actor,
  input: CommandScope & { commands: readonly CommandInput[] },
): Promise<Command[]> {
  const _id = await openScope(platform, actor, input);
  const errors = faultsOfCommands(input.commands);
  if (errors[0]) refuse('invalid_request', { reason: `body${errors[0].path} ${errors[0].message}` }, { errors });
  const fresh = input.commands.map((one) => commandOf(one, platform.ids.next()));
  return swapCommands(platform, { ...input, _id }, fresh);
}

/**
 * Removes one command from the list that contains it, of either scope (docs/behavior/interactions.md#command-lists). Refuses with `not_found` and `not_owner`.
 */
export async function removeCommand(
  platform: Platform,
  actor: Actor,
  { applicationId, commandId }: { applicationId: string; commandId: string },
): Promise<void> {
  await ownApplication(platform, actor, applicationId);
  const { modifiedCount } = isId(commandId)
    ? await platform.db.commands.updateOne({ applicationId, 'commands.id': commandId }, { $pull: { commands: { id: commandId } } })
    : { modifiedCount: 0 };
  if (modifiedCount === 0) refuse('not_found', { what: 'command' });
}
