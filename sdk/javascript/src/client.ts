import { type CommandDefinition, type CommandHandler, Commands, type OptionDefinitions, type PrefixUse, planCommands } from './commands.ts';
import type { Dispatch } from './dispatch-queue.ts';
import { Emitter, type Listener } from './emitter.ts';
import { readToken, readUrl, report } from './environment.ts';
import type { GatewayError } from './errors.ts';
import { Gateway } from './gateway.ts';
import { Api } from './generated/api.ts';
import { eventNames, type GatewayEvents, optInEvents } from './generated/events.ts';
import type { Message, Interaction as RawInteraction } from './generated/types.ts';
import { type FirstAnswer, Interaction } from './interaction.ts';
import { Rest } from './rest.ts';
import { type GatewayReady, isSession, type Session } from './session.ts';
import { SlowWatch } from './slow-watch.ts';

/** Settings of a client. */
export interface ClientOptions {
  /** The bot's token. Default: the environment variable PARLANCE_TOKEN. */
  token?: string;
  /** The address of the installation. Default: the environment variable PARLANCE_URL, or http://localhost:8080. */
  url?: string;
  /** Gateway events to ask for, besides those that have listeners when the bot starts. */
  events?: readonly (keyof GatewayEvents)[];
  /**
   * A session of an earlier process. The bot then receives what happened in between, if that was less than 5 minutes ago. A value that is no session, such as
   * one of a damaged file, is ignored with a warning.
   */
  resumeFrom?: Session | null | undefined;
  /** How many events of one channel are handled at the same time. Default 1: one after another. Those of different channels never wait for each other. */
  concurrency?: number;
  /** How many events of one channel may be unfinished. Further ones are skipped, and `eventsMissed` is emitted. Default 5,000. */
  queueSize?: number;
  /** Whether registering commands removes those that this program does not declare. Default false: they stay, and a warning names them. */
  removeOtherCommands?: boolean;
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
  /** The connection was lost, or the first one failed. The client comes back by itself, with `resumed` or `ready`. Comes once for each loss. */
  disconnected: { code: number; reason: string };
  /** Events may be missing, so load what you need again: the session could not be continued, and a new one follows; or listeners were too slow. */
  eventsMissed: { reason: string };
  /** A session has begun, or the events up to its position are handled. Save it to continue after a restart. */
  session: Session;
  /**
   * A handler failed, or the connection failed for good (`GatewayError`). Without a listener a failed handler is written to the console, and a `GatewayError` is
   * an unhandled rejection, which ends the process.
   */
  error: unknown;
  /** Something that the bot's developer should look at, such as a part of a request that the API ignored. Without a listener it is written to the console. */
  warning: string;
}

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
  readonly #rest: Rest;
  readonly #commands = new Commands();
  readonly #slow = new SlowWatch((text) => this.#report('warning', text));
  #gateway: Gateway | undefined;
  /** The session while the bot is stopped. */
  #kept: Session | undefined;
  #requested: ReadonlySet<string> = new Set();
  #hasStarted = false;

  constructor(options: ClientOptions = {}) {
    super();
    this.#options = options;
    this.#token = readToken(options.token);
    this.url = readUrl(options.url);
    this.#kept = isSession(options.resumeFrom) ? options.resumeFrom : undefined;
    this.#rest = new Rest({
      url: this.url,
      token: this.#token,
      maxRetries: options.maxRetries ?? 5,
      onWarning: (text) => this.#report('warning', text),
    });
    this.api = new Api((request, settings) => this.#rest.send(request, settings));
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

  /** Declares a slash command. `start` registers it, so declare it before. */
  command<const O extends OptionDefinitions = Record<never, never>>(
    name: string,
    definition: CommandDefinition<O>,
    handler: CommandHandler<O>,
  ): this {
    this.#requireNotStarted(`/${name}`);
    this.#commands.add(name, definition, handler);
    return this;
  }

  /**
   * Declares a prefix command such as `!ping`: a message that begins with it. `start` registers it, so that clients list it. Throws if another prefix command has
   * the same name, also with another prefix, because the API tells them apart by their names.
   */
  prefixCommand(prefix: string, name: string, description: string, handler: (use: PrefixUse) => unknown): this {
    this.#requireNotStarted(prefix + name);
    this.#commands.addPrefix(prefix, name, description, handler);
    return this;
  }

  /**
   * Registers the declared commands, if they differ from the registered ones. Other registered commands stay, and a warning names them, unless the option
   * `removeOtherCommands` is set. `start` does it too.
   */
  async registerCommands(): Promise<void> {
    const { applicationId } = await this.api.getMe();
    if (applicationId === undefined) throw new Error('This token is not a bot’s.');
    const { removeOtherCommands = false } = this.#options;
    const { list, others } = planCommands(await this.api.listCommands(applicationId), this.#commands.list(), removeOtherCommands);
    if (list) await this.api.replaceCommands(applicationId, list);
    if (others.length > 0 && !removeOtherCommands)
      this.#report(
        'warning',
        `Registered commands that this program does not declare stay: ${others.join(', ')}. To remove them, set the option removeOtherCommands of the Client.`,
      );
  }

  /** Registers the commands and connects. Resolves when the session is ready; rejects if the token is wrong. */
  async start(): Promise<void> {
    if (this.#gateway) throw new Error('The bot is already started.');
    this.#rest.open();
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
    if (this.#options.resumeFrom && !this.#kept && !this.#hasStarted)
      this.#report(
        'warning',
        '`resumeFrom` is not a session, so the bot begins a new one. The file that it was read from may be empty or damaged.',
      );
    this.#hasStarted = true;
    const gateway = new Gateway({
      token: this.#token,
      events: [...this.#requested],
      findUrl: async () => (await this.api.getGateway()).url,
      resumeFrom: this.#kept,
      concurrency: this.#options.concurrency ?? 1,
      queueSize: this.#options.queueSize ?? 5_000,
      handle: (event, lane) => this.#handle(event, lane),
      isPrefixCommand: (name, data) => name === 'MESSAGE_CREATE' && this.#commands.findPrefix(data) !== undefined,
      onReady: (data) => {
        isReady();
        this.#notify('ready', data);
      },
      onResumed: (replayed) => {
        isReady();
        this.#notify('resumed', { replayed });
      },
      onMissed: (reason) => this.#notify('eventsMissed', { reason }),
      onDisconnect: (code, reason) => this.#notify('disconnected', { code, reason }),
      onMalformed: (error) =>
        this.#report('error', new Error('The gateway sent something that is not in its protocol. The bot resumes.', { cause: error })),
      onHandled: (session) => this.#notify('session', session),
    });
    this.#gateway = gateway;
    const hasCommands = this.#commands.list().length > 0 || this.#options.removeOtherCommands === true;
    try {
      if (hasCommands) await this.registerCommands();
      const running = gateway.run();
      await Promise.race([ready, running]);
      running.catch((error: GatewayError) => this.#fail(error));
      // Commands of an earlier version of the program may be left. A failure here is ignored.
      if (!hasCommands) this.registerCommands().catch(() => undefined);
    } catch (error) {
      this.#gateway = undefined;
      throw error;
    }
  }

  /**
   * Disconnects and waits up to 10 s for the handlers of what has arrived, but not for one that calls it. Then requests are refused until the next `start`. With
   * `keepSession` the session stays resumable for 5 minutes; save `session` afterwards and pass it as `resumeFrom` to the next client. Events that are not
   * handled by then come again there.
   */
  async stop({ keepSession = false }: { keepSession?: boolean } = {}): Promise<void> {
    const gateway = this.#gateway;
    await gateway?.stop({ keepSession, timeoutMs: graceMs });
    if (keepSession) this.#kept = gateway?.session ?? this.#kept;
    else this.#kept = undefined;
    if (this.#gateway !== gateway) return;
    this.#gateway = undefined;
    this.#rest.close();
  }

  /** Runs the handler of a command and resolves when it has ended. Used by endpoints; `answer` sends the first answer. Never rejects. */
  async handleInteraction(raw: RawInteraction, answer?: FirstAnswer): Promise<void> {
    try {
      await this.#handleInteraction(raw, answer);
    } catch (error) {
      this.#report('error', error);
    }
  }

  async #handleInteraction(raw: RawInteraction, answer: FirstAnswer | undefined): Promise<void> {
    const interaction = new Interaction(raw, {
      api: this.api,
      deferAfterMs: this.#options.deferAfterMs ?? 2_000,
      onError: (error) => this.#report('error', error),
      onWarning: (text) => this.#report('warning', text),
      answer:
        answer ??
        (async (body) => {
          await this.api.answerInteraction(raw.id, raw.token, body);
          return true;
        }),
    });
    let hasFailed = false;
    try {
      await this.#slow.watch(`The handler of /${interaction.name} (interactionCreate)`, this.#runCommand(interaction));
    } catch (error) {
      hasFailed = true;
      this.#report('error', error);
    }
    await interaction.end({ hasFailed });
  }

  async #runCommand(interaction: Interaction): Promise<void> {
    const handler = this.#commands.find(interaction.name);
    if (handler) await handler(interaction as never);
    else if (this.listenerCount('interactionCreate') > 0) await this.emit('interactionCreate', interaction);
    else await interaction.reply({ content: unknownCommand, ephemeral: true });
  }

  async #handle({ name: event, data, isPrefixCommand }: Dispatch, lane: string): Promise<void> {
    try {
      if (event === 'INTERACTION_CREATE') return await this.handleInteraction(data as RawInteraction);
      if (isPrefixCommand) return await this.#runPrefixCommand(data as Message, lane);
      const name = Object.entries(eventNames).find(([, one]) => one === event)?.[0] as keyof ClientEvents | undefined;
      if (name) await this.#slow.watch(`A listener of ${name}`, this.emit(name, data), lane);
    } catch (error) {
      this.#report('error', error);
    }
  }

  async #runPrefixCommand(message: Message, lane: string): Promise<void> {
    const found = this.#commands.findPrefix(message);
    if (!found) return;
    const reply = (content: string): Promise<Message> => this.api.createMessage(message.channelId, { content, replyTo: message.id });
    const run = async (): Promise<void> => {
      await found.handler({ message, text: found.text, words: found.text.split(/\s+/).filter(Boolean), reply });
    };
    await this.#slow.watch(`The handler of ${found.command} (messageCreate)`, run(), lane);
  }

  #requireNotStarted(command: string): void {
    if (this.#gateway) throw new Error(`Declare ${command} before start(), which registers the commands.`);
  }

  /** The gateway has refused the bot for good. */
  #fail(error: GatewayError): void {
    this.#gateway = undefined;
    // Nobody waits for these promises: without a listener that handles the error, the process ends with it.
    if (this.listenerCount('error') === 0) void Promise.reject(error);
    else void this.emit('error', error);
  }

  #notify<N extends keyof ClientEvents>(name: N, data: ClientEvents[N]): void {
    this.#slow.watch(`A listener of ${name}`, this.emit(name, data)).catch((error: unknown) => this.#report('error', error));
  }

  #report(kind: 'error' | 'warning', what: unknown): void {
    if (this.listenerCount(kind) === 0) return report(kind, what);
    this.emit(kind, what as never).catch((error: unknown) => report('error', error));
  }
}
