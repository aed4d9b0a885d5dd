import { ApiError } from './errors.ts';
import type { Api } from './generated/api.ts';
import type { CallbackInput, Embed, Message, Interaction as RawInteraction } from './generated/types.ts';
import { wait } from './wait.ts';

/** What a bot answers: a text, or a message with embeds. `ephemeral`: only the person who used the command sees it. */
export type Reply = string | { content?: string; embeds?: Embed[]; ephemeral?: boolean };
/** A change of an answer. */
export type ReplyEdit = string | { content?: string; embeds?: Embed[] };

/**
 * Sends the first answer. False: it went into the response of an HTTPS request, so the API does not know of it yet.
 */
export type FirstAnswer = (body: CallbackInput) => Promise<boolean>;

/** Settings of an interaction. */
export interface InteractionOptions {
  api: Api;
  answer: FirstAnswer;
  /** When it is deferred if nothing was answered, in milliseconds after it was received. False: never. */
  deferAfterMs: number | false;
  /** Called if the automatic defer fails. */
  onError: (error: unknown) => void;
  /** Called if the handler ended without an answer. */
  onWarning: (text: string) => void;
}

const toBody = <T extends object>(reply: string | T): { content: string } | T => (typeof reply === 'string' ? { content: reply } : reply);
/** For this long the API may not know of an answer that was sent in an HTTPS response, in milliseconds. */
const applyMs = 4_000;
const applyStepMs = 100;
const windowMs = 15 * 60_000;
const handlerFailed = 'Something went wrong. Please try again later.';
const noAnswer = 'The bot has finished without an answer.';

/**
 * A command that somebody used. Answer it with `reply` within 3 seconds, or with `defer` and then within 15 minutes. If the handler takes longer, it is deferred
 * automatically. `Options` are the values by the name of the option; options that were not filled in are absent.
 */
export class Interaction<Options extends object = Record<string, string | number | boolean | undefined>> {
  /** The interaction as it was received. Its `token` is secret. */
  readonly raw: RawInteraction;
  /** The values that the person gave. */
  readonly options: Options;
  /** When the time for follow-ups is over. Undefined until it is answered or deferred. */
  expiresAt: Date | undefined;
  readonly #settings: InteractionOptions;
  #state: 'new' | 'deferred' | 'answered' = 'new';
  /** Whether the kit has answered, because the handler ended without an answer. */
  #isEndedByKit = false;
  /** The first answer while it is sent; later calls wait for it. */
  #pending: Promise<void> | undefined;
  #isApplied = true;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(raw: RawInteraction, settings: InteractionOptions) {
    this.raw = raw;
    this.options = Object.fromEntries(raw.data.options.map(({ name, value }) => [name, value])) as Options;
    this.#settings = settings;
    // An answer that is under way may be refused, so `defer` waits for it.
    if (settings.deferAfterMs !== false)
      this.#timer = setTimeout(() => {
        this.defer().catch(settings.onError);
      }, settings.deferAfterMs);
  }

  /** The name of the command. */
  get name(): string {
    return this.raw.data.name;
  }

  /** The person who used the command. */
  get user(): RawInteraction['user'] {
    return this.raw.user;
  }

  get channelId(): string {
    return this.raw.channelId;
  }

  /** Null in a direct message. */
  get serverId(): string | null {
    return this.raw.serverId;
  }

  /** Whether `reply` was called, or a follow-up took its place after `defer`. */
  get isAnswered(): boolean {
    return this.#state === 'answered';
  }

  /** Answers. After a defer this replaces the thinking indicator. A second call throws; use `followUp` or `editReply`. */
  async reply(reply: Reply): Promise<void> {
    while (this.#pending) await this.#settled();
    if (this.#isEndedByKit) {
      // The handler goes on in the background. The person gets the answer after all.
      this.#isEndedByKit = false;
      await this.followUp(reply);
      return;
    }
    if (this.#state === 'answered') throw new Error(`/${this.name} is already answered. Use followUp or editReply.`);
    if (this.#state === 'deferred') await this.followUp(reply);
    else await this.#answer({ type: 'message', ...toBody(reply) }, 'answered');
  }

  /** Shows that the bot is thinking, and gives 15 minutes for the answer. Does nothing if it is already deferred. */
  async defer({ ephemeral }: { ephemeral?: boolean } = {}): Promise<void> {
    while (this.#pending) await this.#settled();
    if (this.#state === 'new') await this.#answer({ type: 'defer', ...(ephemeral === undefined ? {} : { ephemeral }) }, 'deferred');
  }

  /** Posts one more message. After a defer the first one is the answer. */
  async followUp(reply: Reply): Promise<Message> {
    while (this.#pending) await this.#settled();
    if (this.#state === 'new') throw new Error(`/${this.name} is not answered yet. Use reply or defer first.`);
    const message = await this.#whenApplied(() => this.#settings.api.createFollowup(this.raw.id, this.raw.token, toBody(reply)));
    this.#state = 'answered';
    return message;
  }

  /** Changes the answer. After a defer this is the answer. */
  async editReply(edit: ReplyEdit): Promise<Message> {
    while (this.#pending) await this.#settled();
    if (this.#state === 'deferred') return this.followUp(edit);
    return this.#whenApplied(() => this.#settings.api.editOriginalAnswer(this.raw.id, this.raw.token, toBody(edit)));
  }

  /** The answer as a message. */
  async fetchReply(): Promise<Message> {
    while (this.#pending) await this.#settled();
    return this.#whenApplied(() => this.#settings.api.getOriginalAnswer(this.raw.id, this.raw.token));
  }

  /** Deletes the answer. */
  async deleteReply(): Promise<void> {
    while (this.#pending) await this.#settled();
    await this.#whenApplied(() => this.#settings.api.deleteOriginalAnswer(this.raw.id, this.raw.token));
  }

  /**
   * Ends the interaction when its handler has ended, so that the person does not see the thinking indicator for 15 minutes: with an apology if it failed, or if
   * it has not answered. The client calls it. Rejects if the answer gets no response.
   */
  async end({ hasFailed }: { hasFailed: boolean }): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#pending) await this.#settled();
    if (this.#state === 'answered' || (await this.#isAnsweredOtherwise())) return;
    try {
      await this.reply({ content: hasFailed ? handlerFailed : noAnswer, ephemeral: true });
      this.#isEndedByKit = true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'already_answered') return; // by a request of the handler's own
    }
    if (!hasFailed)
      this.#settings.onWarning(`The handler of /${this.name} has ended without an answer. Await reply() or editReply() in it.`);
  }

  /** Whether a deferred interaction has an answer that was sent by a request of the handler's own. */
  async #isAnsweredOtherwise(): Promise<boolean> {
    if (this.#state !== 'deferred') return false;
    try {
      await this.#settings.api.getOriginalAnswer(this.raw.id, this.raw.token);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.code !== 'not_answered';
    }
  }

  async #settled(): Promise<void> {
    await this.#pending?.catch(() => undefined);
  }

  #answer(body: CallbackInput, next: 'answered' | 'deferred'): Promise<void> {
    const send = async (): Promise<void> => {
      this.#isApplied = await this.#settings.answer(body);
      this.#state = next;
      this.expiresAt = new Date(Date.now() + windowMs);
      clearTimeout(this.#timer);
    };
    // A refused answer, such as one with 2,001 characters, does not count: another one may follow.
    const pending = send().finally(() => {
      this.#pending = undefined;
    });
    this.#pending = pending;
    return pending;
  }

  /** Repeats `call` for a short time while the API does not know of an answer in an HTTPS response yet. */
  async #whenApplied<T>(call: () => Promise<T>): Promise<T> {
    for (const until = performance.now() + applyMs; ; ) {
      try {
        const result = await call();
        this.#isApplied = true;
        return result;
      } catch (error) {
        const isTooEarly = !this.#isApplied && error instanceof ApiError && error.code === 'not_answered';
        if (!isTooEarly || performance.now() > until) throw error;
        await wait(applyStepMs);
      }
    }
  }
}
