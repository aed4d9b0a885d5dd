import type { CommandInput } from '../../lib/contract/command.ts';
import type { Interaction } from '../../lib/contract/interaction.ts';
import { listenAs } from '../harness/whole.ts';
import type { Person, Site } from './browser.ts';

/** A bot in a server that answers its commands as each name says. */
export interface TalkingBot {
  id: string;
  applicationId: string;
  token: string;
  /** The Authorization value. */
  as: string;
  /** What it was sent, in order. */
  heard: Interaction[];
  /** Answers what was deferred. */
  followUp(interaction: Interaction, body: object): Promise<number>;
  close(): Promise<void>;
}

const option = (name: string, type: string, required: boolean) => ({ name, description: `the ${name}`, type, required });

/** One command for each way that an interaction can go, and one with an option of every type. */
const commands = [
  { name: 'answer', description: 'Answers at once.' },
  { name: 'defer', description: 'Thinks first.' },
  { name: 'silent', description: 'Never answers.' },
  { name: 'secret', description: 'Answers one person.' },
  {
    name: 'every',
    description: 'Takes every type.',
    options: [
      option('text', 'string', true),
      option('count', 'integer', true),
      option('share', 'number', true),
      option('sure', 'boolean', true),
      option('person', 'user', true),
      option('group', 'role', true),
      option('place', 'channel', true),
      option('note', 'string', false),
    ],
  },
] as CommandInput[];

async function answer(site: Site, { id, token, data }: Interaction): Promise<void> {
  const body = {
    answer: { type: 'message', content: 'Answered at once' },
    defer: { type: 'defer' },
    secret: { type: 'message', content: 'Between us', ephemeral: true },
    every: { type: 'message', content: `Got ${JSON.stringify(Object.fromEntries(data.options.map(({ name, value }) => [name, value])))}` },
  }[data.name];
  if (body) await site.call('POST', `/api/interactions/${id}/${token}/callback`, { body });
}

/** Makes `owner`'s bot, adds it to a server and connects it. */
export async function addTalkingBot(site: Site, owner: Person, serverId: string): Promise<TalkingBot> {
  const { body } = await site.call<{ id: string; token: string; bot: { id: string } }>('POST', '/api/applications', {
    as: owner.as,
    body: { name: 'Parrot' },
  });
  const as = `Bot ${body.token}`;
  await site.call('POST', `/api/applications/${body.id}/authorize`, { as: owner.as, body: { serverId, permissions: 0b1111 } });
  const saved = await site.call('PUT', `/api/applications/${body.id}/commands`, { as, body: commands });
  if (saved.status !== 200) throw new Error(`commands: ${saved.status}`);
  const ear = await listenAs(site, body.token);
  const heard: Interaction[] = [];
  // Listening is by the ear's own list; each interaction is answered once.
  let at = 0;
  const look = setInterval(() => {
    for (const { t, d } of ear.heard.slice(at)) {
      at++;
      if (t !== 'INTERACTION_CREATE') continue;
      const interaction = d as unknown as Interaction;
      heard.push(interaction);
      void answer(site, interaction);
    }
  }, 20);
  return {
    id: body.bot.id,
    applicationId: body.id,
    token: body.token,
    as,
    heard,
    followUp: async ({ id, token }, content) =>
      (await site.call('POST', `/api/interactions/${id}/${token}/followup`, { body: content })).status,
    async close() {
      clearInterval(look);
      await ear.client.close();
    },
  };
}
