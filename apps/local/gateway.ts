import { Gateway } from '../../sdk/javascript/src/gateway.ts';
import type { Call } from './api-client.ts';

/** What to receive, and the callbacks. */
interface Options {
  /** Asks the API for the address of the gateway. */
  call: Call;
  /** The token of a bot, or of a person's login. */
  token: string;
  /** Events to request beyond those that every client gets. */
  events?: readonly string[];
  /** Called for each event in order, including `READY`. */
  onEvent: (name: string, data: unknown) => void;
  /** Called with a text when the state of the connection changes. */
  onState: (line: string) => void;
}

/** The gateway client of the JavaScript kit, for programs that take all events as they come, those of commands included. `run` connects it. */
export const openGateway = ({ call, token, events = [], onEvent, onState }: Options): Gateway =>
  new Gateway({
    token,
    events,
    findUrl: async () => (await call<{ url: string }>('GET', '/api/gateway')).url,
    resumeFrom: undefined,
    concurrency: 1,
    queueSize: 10_000,
    handle: async ({ name, data }) => onEvent(name, data),
    isPrefixCommand: () => false,
    onReady: (ready) => {
      onState('connected');
      onEvent('READY', ready);
    },
    onResumed: (replayed) => onState(`resumed; ${replayed} events followed`),
    onMissed: (reason) => onState(`events may have been missed: ${reason}`),
    onDisconnect: (code, reason) => onState(`disconnected (${code}${reason && `, ${reason}`}); reconnecting`),
    onMalformed: (error) => onState(`the gateway sent something that is not in its protocol: ${String(error)}`),
    onHandled: () => undefined,
  });
