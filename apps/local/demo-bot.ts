import type { Interaction } from '../../lib/contract/interaction.ts';
import { apiClient } from './api-client.ts';
import { replyTo } from './demo-commands.ts';
import { openGateway } from './gateway.ts';
import { print } from './terminal.ts';

/** A running demo bot. */
export interface DemoBot {
  /** Resolves at the first READY; rejects if the gateway refuses the bot. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** Runs the demo bot. It answers its commands over the callback route and reconnects automatically. Pending follow-ups are lost when it stops. */
export function startDemoBot(baseUrl: string, token: string): DemoBot {
  const call = apiClient(baseUrl);
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
  let isReady = (): void => undefined;
  const firstReady = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  const gateway = openGateway({
    call,
    token,
    onEvent: (name, data) => {
      if (name === 'READY') isReady();
      if (name === 'INTERACTION_CREATE') answer(data as Interaction).catch(logError);
    },
    onState: (line) => {
      if (!/^(connected|resumed)/.test(line)) print(`[demo bot] ${line}`);
    },
  });
  const running = gateway.run();
  running.catch(logError);
  return {
    ready: Promise.race([firstReady, running]),
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      await gateway.stop({ keepSession: false, timeoutMs: 0 });
    },
  };
}
