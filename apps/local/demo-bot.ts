import type { Interaction } from '../../lib/contract/interaction.ts';
import { apiClient } from './api-client.ts';
import { replyTo } from './demo-commands.ts';
import { connectGateway, type GatewayClient } from './gateway-client.ts';
import { print } from './terminal.ts';

/** Runs the demo bot. It answers its commands over the callback route and reconnects automatically. Pending follow-ups are lost when it stops. */
export async function startDemoBot(baseUrl: string, token: string): Promise<GatewayClient> {
  const call = apiClient(baseUrl);
  const { url } = await call<{ url: string }>('GET', '/api/gateway');
  const timers = new Set<NodeJS.Timeout>();
  const logError = (error: Error): void => print(`[demo bot] error: ${error.message}`);
  const answer = async (interaction: Interaction): Promise<void> => {
    const reply = replyTo(interaction);
    if (!reply) return;
    const path = `/api/interactions/${interaction.id}/${interaction.token}`;
    await call('POST', `${path}/callback`, reply.first);
    if (!reply.later) return;
    const { afterMs, ...message } = reply.later;
    const timer = setTimeout(() => {
      timers.delete(timer);
      call('POST', `${path}/followup`, message).catch(logError);
    }, afterMs);
    timers.add(timer);
  };
  const client = connectGateway({
    url,
    token,
    onEvent: (name, data) => {
      if (name === 'INTERACTION_CREATE') answer(data as Interaction).catch(logError);
    },
    onState: (line) => {
      if (!/^(connected|resumed)/.test(line)) print(`[demo bot] ${line}`);
    },
  });
  return {
    ...client,
    close: () => {
      for (const timer of timers) clearTimeout(timer);
      client.close();
    },
  };
}
