import type { CommandInput } from '../../lib/contract/command.ts';
import type { Interaction } from '../../lib/contract/interaction.ts';
import { recordEvents } from '../harness/parlance.ts';
import type { Person, Site } from './browser.ts';

/** A bot in a server that responds to each command as its name says. */
export interface TalkingBot {
  id: string;
  applicationId: string;
  token: string;
  /** The Authorization value. */
  as: string;
  /** The interactions that it received, in order. */
  received: Interaction[];
  /** Sends the follow-up of a deferred response; returns the status. */
  followUp(interaction: Interaction, body: object): Promise<number>;
  close(): Promise<void>;
}

const option = (name: string, type: string, required: boolean) => ({ name, description: `the ${name}`, type, required });

/** One command for each kind of response, and one with an option of every type. */
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

async function respond(site: Site, { id, token, data }: Interaction): Promise<void> {
  const body = {
    answer: { type: 'message', content: 'Answered at once' },
    defer: { type: 'defer' },
    secret: { type: 'message', content: 'Between us', ephemeral: true },
    every: { type: 'message', content: `Got ${JSON.stringify(Object.fromEntries(data.options.map(({ name, value }) => [name, value])))}` },
  }[data.name];
  if (body) await site.call('POST', `/api/interactions/${id}/${token}/callback`, { body });
}

/** Creates a bot of `owner`, adds it to a server and connects it. */
export async function addTalkingBot(site: Site, owner: Person, serverId: string): Promise<TalkingBot> {
  const { body } = await site.call<{ id: string; token: string; bot: { id: string } }>('POST', '/api/applications', {
    as: owner.as,
    body: { name: 'Parrot' },
  });
  const as = `Bot ${body.token}`;
  await site.call('POST', `/api/applications/${body.id}/authorize`, { as: owner.as, body: { serverId, permissions: 0b1111 } });
  const saved = await site.call('PUT', `/api/applications/${body.id}/commands`, { as, body: commands });
  if (saved.status !== 200) throw new Error(`commands: ${saved.status}`);
  const recorder = await recordEvents(site, body.token);
  const received: Interaction[] = [];
  // Each interaction is answered once.
  let at = 0;
  const timer = setInterval(() => {
    for (const { t, d } of recorder.received.slice(at)) {
      at++;
      if (t !== 'INTERACTION_CREATE') continue;
      const interaction = d as unknown as Interaction;
      received.push(interaction);
      void respond(site, interaction);
    }
  }, 20);
  return {
    id: body.bot.id,
    applicationId: body.id,
    token: body.token,
    as,
    received,
    followUp: async ({ id, token }, content) =>
      (await site.call('POST', `/api/interactions/${id}/${token}/followup`, { body: content })).status,
    async close() {
      clearInterval(timer);
      await recorder.client.close();
    },
  };
}
