import type { Interaction } from '../../lib/contract/interaction.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { type EventRecorder, type TestParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import type { Given } from '../harness/use.ts';

/** Uses of a bot's slash commands by the owner of a server, in its first channel. */
export interface Invocations {
  /** The events of the owner. */
  person: EventRecorder;
  /** Uses a slash command; returns the interaction's id. */
  invoke(name: string, options?: Record<string, unknown>): Promise<string>;
  /** Waits for the message of the bot with this content, also an ephemeral one. Uses the last command again when it expires, as on a busy machine. */
  answer(content: string): Promise<Message>;
  /** Uses a slash command, again when it expires, until the interaction has this state. */
  reach(name: string, state: 'deferred' | 'answered'): Promise<void>;
}

/** Records the events of the owner before the tests of a `describe`. */
export function useInvocations({ api, owner, server }: Given<TestParlance>): Invocations {
  const person = useRecorder(api, owner);
  let last: { id: string; name: string; options: Record<string, unknown> } | undefined;
  const invoke = async (name: string, options: Record<string, unknown> = {}): Promise<string> => {
    const path = `/api/channels/${server.general}/commands`;
    const list = await send<{ id: string; name: string }[]>(api, 200, owner, 'GET', path);
    const command = list.find((one) => one.name === name);
    const body = { options: Object.entries(options).map(([option, value]) => ({ name: option, value })) };
    const { id } = await send<Pick<Interaction, 'id'>>(api, 202, owner, 'POST', `${path}/${command?.id}/invoke`, body);
    last = { id, name, options };
    return id;
  };
  /** Waits for such an event of the owner. When the last command expires before, uses it again. */
  const waitFor = async (isWanted: (event: Dispatch) => boolean): Promise<Dispatch> => {
    for (;;) {
      const used = last;
      const hasExpired = ({ t, d }: Dispatch): boolean => t === 'INTERACTION_UPDATE' && d.id === used?.id && d.state === 'expired';
      const event = await person.waitFor((one) => isWanted(one) || hasExpired(one));
      if (isWanted(event)) return event;
      if (used) await invoke(used.name, used.options);
    }
  };
  return {
    person,
    invoke,
    answer: async (content) => (await waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content)).d as unknown as Message,
    async reach(name, state) {
      await invoke(name);
      await waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === last?.id && d.state === state);
    },
  };
}
