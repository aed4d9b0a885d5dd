import { randomInt } from 'node:crypto';
import { limits } from '../../lib/base/limits.ts';
import { truncate } from '../../lib/base/text.ts';
import type { CommandInput } from '../../lib/contract/command.ts';
import type { Interaction } from '../../lib/contract/interaction.ts';
import type { CallbackInput, FollowupInput } from '../../lib/contract/message.ts';

/** The commands of the demo bot, in the format of `PUT …/commands`. */
export const demoCommands: readonly CommandInput[] = [
  {
    name: 'hello',
    description: 'Says hello.',
    options: [{ name: 'name', description: 'The name to greet.', type: 'string', required: false }],
  },
  {
    name: 'roll',
    description: 'Rolls a die.',
    options: [{ name: 'sides', description: 'Number of sides, 2 to 1000. Default: 6.', type: 'integer', required: false }],
  },
  {
    name: 'remind',
    description: 'Reminds you of something.',
    options: [
      { name: 'about', description: 'What to remind you of.', type: 'string', required: true },
      { name: 'minutes', description: 'In how many minutes, up to 10. Default: 1.', type: 'number', required: false },
      { name: 'who', description: 'Who to remind. Default: you.', type: 'user', required: false },
      { name: 'quiet', description: 'Only you see the reminder.', type: 'boolean', required: false },
    ],
  },
  {
    name: 'think',
    description: 'Thinks for a moment before it answers.',
    options: [{ name: 'question', description: 'What to think about.', type: 'string', required: true }],
  },
  { name: 'secret', description: 'Tells you something that only you can see.' },
  {
    name: 'ids',
    description: 'Shows the IDs of what you choose, for your own bot.',
    options: [
      { name: 'user', description: 'A person or bot.', type: 'user', required: false },
      { name: 'role', description: 'A role.', type: 'role', required: false },
      { name: 'channel', description: 'A channel.', type: 'channel', required: false },
    ],
  },
  { name: 'silent', description: 'Never answers, to show what happens then.' },
];

/** The demo bot's response to a command: the first answer, and optionally a follow-up after `afterMs`. */
export interface Reply {
  first: CallbackInput;
  later?: FollowupInput & { afterMs: number };
}

type Used = Pick<Interaction, 'user' | 'data' | 'channelId' | 'serverId'>;

const toMessage = (content: string, ephemeral = false): CallbackInput => ({
  type: 'message',
  content: truncate(content, limits.messageChars),
  ...(ephemeral && { ephemeral }),
});

/** Replies to the demo's commands, by name. */
const replies: Readonly<Record<string, (used: Used, optionOf: (name: string) => string | number | boolean | undefined) => Reply>> = {
  hello: ({ user }, optionOf) => ({ first: toMessage(`Hello, ${optionOf('name') ?? user.displayName}!`) }),
  roll: ({ user }, optionOf) => {
    const sides = Number(optionOf('sides') ?? 6);
    if (sides < 2 || sides > 1000) return { first: toMessage('A die has 2 to 1000 sides.', true) };
    return { first: toMessage(`${user.displayName} rolls **${randomInt(1, sides + 1)}** of ${sides}.`) };
  },
  remind: ({ user }, optionOf) => {
    const minutes = Number(optionOf('minutes') ?? 1);
    if (!(minutes > 0 && minutes <= 10)) return { first: toMessage('Choose a time of up to 10 minutes.', true) };
    const ephemeral = optionOf('quiet') === true;
    const content = truncate(`<@${String(optionOf('who') ?? user.id)}> ${String(optionOf('about'))}`, limits.messageChars);
    const first = toMessage(`I’ll remind you in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`, ephemeral);
    return { first, later: { content, ephemeral, afterMs: minutes * 60_000 } };
  },
  think: (_used, optionOf) => ({
    first: { type: 'defer' },
    later: { content: truncate(`I thought about it: ${String(optionOf('question'))} **Yes.**`, limits.messageChars), afterMs: 2_000 },
  }),
  secret: ({ user }) => ({ first: toMessage(`Only you can see this, ${user.displayName}. It disappears when you reload the page.`, true) }),
  ids: ({ user, serverId, channelId }, optionOf) => {
    const named = ['user', 'role', 'channel'].flatMap((name) =>
      optionOf(name) === undefined ? [] : [`${name} \`${String(optionOf(name))}\``],
    );
    const here = [`you \`${user.id}\``, `channel \`${channelId}\``, ...(serverId === null ? [] : [`server \`${serverId}\``])];
    return { first: toMessage((named.length > 0 ? named : here).join('\n'), true) };
  },
};

/** The demo bot's response to a command; undefined for a command that it does not answer. */
export function replyTo(used: Used): Reply | undefined {
  const { name, options } = used.data;
  const reply = Object.hasOwn(replies, name) ? replies[name] : undefined;
  return reply?.(used, (wanted) => options.find((option) => option.name === wanted)?.value);
}
