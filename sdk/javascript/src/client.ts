import {
  areSameCommands,
  type CommandDefinition,
  type CommandHandler,
  Commands,
  type OptionDefinitions,
  type PrefixUse,
} from './commands.ts';
import { Emitter, type Listener } from './emitter.ts';
import { readSetting, report } from './environment.ts';
import { ApiError } from './errors.ts';
import { Gateway } from './gateway.ts';
import { Api } from './generated/api.ts';
import { eventNames, type GatewayEvents, optInEvents } from './generated/events.ts';
import type { Message, Interaction as RawInteraction } from './generated/types.ts';
import { type FirstAnswer, Interaction } from './interaction.ts';
import { Rest } from './rest.ts';
import type { GatewayReady, Session } from './session.ts';

/** Settings of a client. */
export interface ClientOptions {
  /** The bot's token. Default: the environment variable PARLANCE_TOKEN. */
  token?: string;
  /** The address of the installation. Default: the environment variable PARLANCE_URL, or http://localhost:8080. */
  url?: string;
  /** Gateway events to ask for, besides those that have listeners when the bot starts. */
  events?: readonly (keyof GatewayEvents)[];
  /** A session of an earlier process. The bot then receives what happened in between, if that was less than 5 minutes ago. */
  resumeFrom?: Session | undefined;
  /** How many events are handled at the same time. Default 16; 1 handles one after another. */
  concurrency?: number;
  /** How many events may wait. With more, the bot disconnects until half of them are handled, and then resumes. Default 1,000. */
  queueSize?: number;
  /** When an unanswered command is deferred, in milliseconds after it was received; false turns this off. Default 2,000. */
  deferAfterMs?: number | false;
  /** How often a request is repeated when the network or the service fails. Default 5. */
  maxRetries?: number;
}

/** The events of a client: those of the gateway, and its own. */
export interface ClientEvents extends Omit<GatewayEvents, 'interactionCreate'> {
  /** A command that no `command` was declared for. */
  interactionCreate: Interaction;
  /** A new session has begun. */
  ready: GatewayReady;
  /** The session was continued after an interruption. No event is missing. */
  resumed: { replayed: number };
  /** The connection was lost. The client comes back by itself. */
  disconnected: { code: number; reason: string };
  /** The session could not be continued, so events may be missing: load what you need again. A new session follows. */
  eventsMissed: { reason: string };
  /** A session has begun, or the events up to its position are handled. Save it to continue after a restart. */
  session: Session;
  /** A handler failed, or the connection failed for good (`GatewayError`). Without a listener it is written to the console. */
  error: unknown;
  /** The API ignored a part of a request. Comes once for each text. Without a listener it is written to the console. */
  warning: string;
}

const handlerFailed = 'Something went wrong. Please try again later.';
const unknownCommand = 'This command does not exist any more.';
const graceMs = 10_000;

/** A bot: its events, commands and requests. */
export class Client extends Emitter<ClientEvents> {
  /** The operations of the HTTP API. */
  readonly api: Api;
  /** The address of the installation. */
  readonly url: string;
  readonly #options: ClientOptions;
  readonly #token: string | undefined;
  readonly #commands = new Commands();
  #gateway: Gateway | undefined;
  /** The session while the bot is stopped. */
  #kept: Session | undefined;
  #requested: ReadonlySet<string> = new Set();

  constructor(options: ClientOptions = {}) {
    super();
    this.#options = options;
    this.#kept = options.resumeFrom;
    this.#token = (options.token ?? readSetting('PARLANCE_TOKEN'))?.replace(/^Bot /, '');
    this.url = (options.url ?? readSetting('PARLANCE_URL') ?? 'http://localhost:8080').replace(/\/+$/, '');
    const rest = new Rest({
      url: this.url,
      token: this.#token,
      maxRetries: options.maxRetries ?? 5,
      onWarning: (text) => this.#report('warning', text),
    });
    this.api = new Api((request, settings) => rest.send(request, settings));
  }

  /** The session with the position up to which all events are handled; undefined before the first one. */
  get session(): Session | undefined {
    return this.#gateway ? this.#gateway.session : this.#kept;
  }

  /** Adds a listener. Events that a bot has to ask for need their first listener before `start`. */
  override on<N extends keyof ClientEvents>(name: N, listener: Listener<ClientEvents[N]>): this {
    const event = (eventNames as Record<string, string>)[name];
    if (this.#gateway && event && optInEvents.includes(event) && !this.#requested.has(event))
      throw new Error(`Add the first listener of ${name} before start(), or name it in the option \`events\`.`);
    return super.on(name, listener);
  }

  /** Declares a slash command. `start` registers it. */
  command<const O extends OptionDefinitions = Record<never, never>>(
    name: string,
    definition: CommandDefinition<O>,
    handler: CommandHandler<O>,
  ): this {
    this.#commands.add(name, definition, handler);
    return this;
  }

  /** Declares a prefix command such as `!ping`: a message that begins with it. `start` registers it, so that clients list it. */
  prefixCommand(prefix: string, name: string, description: string, handler: (use: PrefixUse) => unknown): this {
    this.#commands.addPrefix(prefix, name, description, handler);
    return this;
  }

  /** Registers the declared commands, if they differ from the registered ones. `start` does it too. */
  async registerCommands(): Promise<void> {
    const declared = this.#commands.list();
    if (declared.length === 0) return;
    const { applicationId } = await this.api.getMe();
    if (applicationId === undefined) throw new Error('This token is not a bot’s.');
    if (!areSameCommands(await this.api.listCommands(applicationId), declared)) await this.api.replaceCommands(applicationId, declared);
  }

  /** Registers the commands and connects. Resolves when the session is ready; rejects if the token is wrong. */
  async start(): Promise<void> {
    if (this.#gateway) throw new Error('The bot is already started.');
    if (!this.#token) throw new Error('The bot needs a token. Set PARLANCE_TOKEN, or pass `token` to the Client.');
    const wanted = [
      ...(this.#options.events ?? []),
      ...(Object.keys(eventNames) as (keyof GatewayEvents)[]).filter((name) => this.listenerCount(name) > 0),
    ];
    this.#requested = new Set(wanted.map((name) => eventNames[name]).filter((name) => optInEvents.includes(name)));
    let isReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    const gateway = new Gateway({
      token: this.#token,
      events: [...this.#requested],
      findUrl: async () => (await this.api.getGateway()).url,
      resumeFrom: this.#kept,
      concurrency: this.#options.concurrency ?? 16,
      capacity: this.#options.queueSize ?? 1_000,
      handle: (name, data) => this.#handle(name, data),
      onReady: (data) => {
        isReady();
        this.#notify('ready', data);
      },
      onResumed: (replayed) => {
        isReady();
        this.#notify('resumed', { replayed });
      },
      onReset: (reason) => this.#notify('eventsMissed', { reason }),
      onDisconnect: (code, reason) => this.#notify('disconnected', { code, reason }),
      onHandled: (session) => this.#notify('session', session),
    });
    this.#gateway = gateway;
    try {
      await this.registerCommands();
      const running = gateway.run();
      await Promise.race([ready, running]);
      running.catch((error: unknown) => {
        this.#gateway = undefined;
        this.#report('error', error);
      });
    } catch (error) {
      this.#gateway = undefined;
      throw error;
    }
  }

  /**
   * Disconnects and waits up to 10 s for the running handlers. With `keepSession` the session stays resumable for 5 minutes; save `session` afterwards and pass
   * it as `resumeFrom` to the next client.
   */
  async stop({ keepSession = false }: { keepSession?: boolean } = {}): Promise<void> {
    const gateway = this.#gateway;
    await gateway?.stop({ keepSession, timeoutMs: graceMs });
    if (keepSession) this.#kept = gateway?.session ?? this.#kept;
    else this.#kept = undefined;
    this.#gateway = undefined;
  }

  /** Runs the handler of a command and resolves when it has ended. Used by endpoints; `answer` sends the first answer. Never rejects. */
  async handleInteraction(raw: RawInteraction, answer?: FirstAnswer): Promise<void> {
    const interaction = new Interaction(raw, {
      api: this.api,
      deferAfterMs: this.#options.deferAfterMs ?? 2_000,
      onError: (error) => this.#report('error', error),
      answer:
        answer ??
        (async (body) => {
          await this.api.answerInteraction(raw.id, raw.token, body);
          return true;
        }),
    });
    const handler = this.#commands.find(raw.data.name);
    try {
      if (handler) await handler(interaction as never);
      else if (this.listenerCount('interactionCreate') > 0) await this.emit('interactionCreate', interaction);
      else await interaction.reply({ content: unknownCommand, ephemeral: true });
    } catch (error) {
      this.#report('error', error);
      await apologize(interaction);
    }
  }

  async #handle(event: string, data: unknown): Promise<void> {
    try {
      if (event === 'INTERACTION_CREATE') return await this.handleInteraction(data as RawInteraction);
      if (event === 'MESSAGE_CREATE') await this.#runPrefixCommand(data as Message);
      const name = Object.entries(eventNames).find(([, one]) => one === event)?.[0] as keyof ClientEvents | undefined;
      if (name) await this.emit(name, data);
    } catch (error) {
      this.#report('error', error);
    }
  }

  async #runPrefixCommand(message: Message): Promise<void> {
    const found = this.#commands.findPrefix(message);
    if (!found) return;
    const reply = (content: string): Promise<Message> => this.api.createMessage(message.channelId, { content, replyTo: message.id });
    await found.handler({ message, text: found.text, words: found.text.split(/\s+/).filter(Boolean), reply });
  }

  #notify<N extends keyof ClientEvents>(name: N, data: ClientEvents[N]): void {
    this.emit(name, data).catch((error: unknown) => this.#report('error', error));
  }

  #report(kind: 'error' | 'warning', what: unknown): void {
    if (this.listenerCount(kind) === 0) return report(kind, what);
    this.emit(kind, what as never).catch((error: unknown) => report('error', error));
  }
}

/** Tells the person that a handler failed, if that is still possible. */
async function apologize(interaction: Interaction): Promise<void> {
  if (interaction.isAnswered) return;
  await interaction.reply({ content: handlerFailed, ephemeral: true }).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
}
