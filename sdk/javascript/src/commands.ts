import type { Command, CommandInput, Message } from './generated/types.ts';
import type { Interaction } from './interaction.ts';

/** An option of a command. The type defaults to `string`. */
export interface OptionDefinition {
  description: string;
  type?: keyof OptionValues;
  required?: boolean;
}

/** What the bot receives for an option, by its type. `user`, `role` and `channel` are ids. */
export interface OptionValues {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  user: string;
  role: string;
  channel: string;
}

/** The options of a command by name. */
export type OptionDefinitions = Readonly<Record<string, OptionDefinition>>;

type ValueOf<D extends OptionDefinition> = D extends { type: infer T extends keyof OptionValues } ? OptionValues[T] : string;

/** The values of options: required ones are there, others may be undefined. */
export type OptionsOf<O extends OptionDefinitions> = {
  [K in keyof O]: O[K] extends { required: true } ? ValueOf<O[K]> : ValueOf<O[K]> | undefined;
};

/** A slash command: its description (up to 100 characters) and its options. */
export interface CommandDefinition<O extends OptionDefinitions> {
  description: string;
  options?: O;
}

/** Handles the use of a slash command. */
export type CommandHandler<O extends OptionDefinitions> = (interaction: Interaction<OptionsOf<O>>) => unknown;

/** A message that begins with a prefix command. */
export interface PrefixUse {
  message: Message;
  /** The text after the name of the command, trimmed. */
  text: string;
  /** The words of `text`. */
  words: string[];
  /** Answers with a reply to the message. */
  reply(content: string): Promise<Message>;
}

interface Slash {
  input: CommandInput;
  handler: CommandHandler<OptionDefinitions>;
}

interface Prefix {
  input: CommandInput;
  handler: (use: PrefixUse) => unknown;
}

/** The declared commands of a bot. */
export class Commands {
  readonly #slash = new Map<string, Slash>();
  readonly #prefix = new Map<string, Prefix>();

  /** Declares a slash command. */
  add<const O extends OptionDefinitions>(name: string, { description, options }: CommandDefinition<O>, handler: CommandHandler<O>): void {
    // The API wants required options first.
    const sorted = Object.entries<OptionDefinition>(options ?? {}).sort(
      ([, a], [, b]) => Number(b.required ?? false) - Number(a.required ?? false),
    );
    const input: CommandInput = {
      kind: 'slash',
      name,
      description,
      options: sorted.map(([option, one]) => ({
        name: option,
        description: one.description,
        type: one.type ?? 'string',
        required: one.required ?? false,
      })),
    };
    this.#slash.set(name, { input, handler: handler as CommandHandler<OptionDefinitions> });
  }

  /** Declares a prefix command. */
  addPrefix(prefix: string, name: string, description: string, handler: (use: PrefixUse) => unknown): void {
    const same = [...this.#prefix].find(([command, { input }]) => command === prefix + name || input.name === name);
    if (same)
      throw new Error(`${prefix}${name} cannot be declared, because ${same[0]} is. A bot can have one prefix command of each name.`);
    this.#prefix.set(prefix + name, { input: { kind: 'prefix', prefix, name, description }, handler });
  }

  /** The declared commands as the API takes them. */
  list(): CommandInput[] {
    return [...this.#slash.values(), ...this.#prefix.values()].map(({ input }) => input);
  }

  /** The handler of a slash command. */
  find(name: string): CommandHandler<OptionDefinitions> | undefined {
    return this.#slash.get(name)?.handler;
  }

  /** The prefix command that a message begins with. Messages of bots have none, so that two bots cannot call each other forever. */
  findPrefix({ author, content }: Partial<Message>): { command: string; handler: Prefix['handler']; text: string } | undefined {
    if (author?.tag === 'bot' || author?.tag === 'verified_bot') return undefined;
    const [, command = '', text = ''] = /^(\S+)\s*([\s\S]*)$/.exec(content ?? '') ?? [];
    const found = this.#prefix.get(command);
    return found && { command, handler: found.handler, text: text.trim() };
  }
}

/** A registered command as the API takes it. */
function toInput(command: CommandInput): CommandInput {
  const { kind = 'slash', name, prefix, description = '', options = [] } = command;
  if (kind === 'prefix') return { kind, name, description, ...(prefix !== undefined && { prefix }) };
  const inputs = options.map((one) => ({
    name: one.name,
    description: one.description,
    type: one.type ?? 'string',
    required: one.required ?? false,
  }));
  return { kind, name, description, options: inputs };
}

/** The API tells commands apart by their kind and name. */
const toKey = ({ kind = 'slash', name }: CommandInput): string => `${kind} ${name}`;

/** What has to be registered, so that the declared commands are there. */
export interface CommandPlan {
  /** The whole list; null if it is registered already. */
  list: CommandInput[] | null;
  /** The registered commands that are not declared, as people write them. */
  others: string[];
}

/** Compares the registered commands with the declared ones, and keeps the others unless `removesOthers`. */
export function planCommands(registered: readonly Command[], declared: readonly CommandInput[], removesOthers: boolean): CommandPlan {
  const declaredKeys = new Set(declared.map(toKey));
  const before = registered.map(toInput);
  const others = before.filter((one) => !declaredKeys.has(toKey(one)));
  const list = removesOthers ? [...declared] : [...others, ...declared];
  const toText = (inputs: readonly CommandInput[]): string =>
    inputs
      .map((one) => JSON.stringify(toInput(one)))
      .sort()
      .join('\n');
  const isSame = toText(before) === toText(list);
  return { list: isSame ? null : list, others: others.map(({ prefix, name }) => `${prefix ?? '/'}${name}`) };
}
