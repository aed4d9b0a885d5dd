import type { Interaction } from '../../lib/contract/interaction.ts';
import { apiClient } from './api-client.ts';
import { connectGateway, type GatewayClient } from './gateway-client.ts';
import { say } from './say.ts';

/** The commands of the demo bot, as `PUT …/commands` takes them. */
export const demoCommands = [
  {
    name: 'hello',
    description: 'Says hello.',
    options: [{ name: 'name', description: 'Who is greeted.', type: 'string', required: false }],
  },
];

/** What the demo bot says to `/hello`. */
export function helloAnswer({ user, data }: Pick<Interaction, 'user' | 'data'>): string {
  const name = data.options.find((option) => option.name === 'name')?.value ?? user.displayName ?? user.username;
  return `Hello, ${name}!`;
}

/** Runs the demo bot: it answers `/hello` over the callback route, and comes back by itself after every interruption. */
export async function startDemoBot(baseUrl: string, token: string): Promise<GatewayClient> {
  const call = apiClient(baseUrl);
  const { url } = await call<{ url: string }>('GET', '/api/gateway');
  const answer = async (interaction: Interaction): Promise<void> => {
    if (interaction.data.name !== 'hello') return;
    const body = { type: 'message', content: helloAnswer(interaction) };
    await call('POST', `/api/interactions/${interaction.id}/${interaction.token}/callback`, body);
  };
  return connectGateway({
    url,
    token,
    onEvent: (name, data) => {
      if (name !== 'INTERACTION_CREATE') return;
      answer(data as Interaction).catch((fault: Error) => say(`[demo bot] ${fault.message}`));
    },
    onState: (line) => {
      if (!/^(connected|resumed)/.test(line)) say(`[demo bot] ${line}`);
    },
  });
}
