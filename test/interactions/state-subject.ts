import { Refusal } from '../../lib/base/errors.ts';
import { requireValid } from '../../lib/contract/check.ts';
import { CallbackInput } from '../../lib/contract/message.ts';
import { decideAnswer } from '../../lib/domain/interactions/answers.ts';
import { expireUnanswered, relayInteraction, sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { findMessageByCreateId } from '../../lib/domain/messages/draft.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { toMessage } from '../../lib/domain/views/messages.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import type { Answer } from '../harness/api.ts';
import { type InteractionFixture, newInteraction, type ReceivedEvent } from '../harness/interaction-fixture.ts';
import { subscribe } from '../harness/log.ts';
import type { Model, Posted, Reply } from './state-model.ts';
import type { Source, Step } from './state-steps.ts';

/** Starts to record the events of three places in one order: the account of the person, that of the bot, and the server. */
export async function collectEvents({ gateway, worker, seeded, bot }: InteractionFixture) {
  const received: (ReceivedEvent & { place: string })[] = [];
  const marks = new Map<unknown, () => void>();
  const person = accountPlace(seeded.ownerId);
  const log = await subscribe(gateway, [person, accountPlace(bot.id), serverPlace(seeded.serverId)], ({ name, data, head }, place) => {
    const mark = marks.get(data.mark);
    if (mark) mark();
    // An ephemeral answer is in the place of the server, for the person only.
    else received.push({ place: head.onlyAccount === seeded.ownerId ? person : place, name, data });
  });
  return {
    received,
    /** Resolves when everything that was appended before has been received. */
    async caughtUp(): Promise<void> {
      const mark = worker.ids.next();
      const markReceived = new Promise<void>((resolve) => marks.set(mark, resolve));
      await worker.eventLog.append(person, [{ id: mark, name: 'INTERACTION_UPDATE', payload: JSON.stringify({ mark }) }]);
      await markReceived;
      marks.delete(mark);
    },
    close: () => log.close(),
  };
}
type EventCollector = Awaited<ReturnType<typeof collectEvents>>;

/** The final state of an interaction when no events are pending. */
export type Outcome = Pick<Model, 'state' | 'original' | 'posted' | 'received'> & {
  /** How often the bot received it. */
  bot: number;
  /** Events that others received, and fields of the outbox that are left. Must be empty. */
  unexpected: unknown[];
};

/** A real interaction that steps are taken with. */
export interface Subject {
  /**
   * Takes the step named `by`. `ms` is how long a `pass` lasts. The response is read later, because parallel steps may return each other's messages.
   */
  take(step: Step, by: string, ms: number): Promise<() => Reply>;
  /** Makes exactly `ms` pass since the last call, by a change of the stored times: real time that has passed is subtracted. */
  pass(ms: number): Promise<void>;
  /** The real time since the last call of `pass`, in milliseconds. */
  driftMs(): number;
  /** Relays until no events are pending, and returns the final state. */
  finish(): Promise<Outcome>;
}

/** Stores an interaction with its pending event to the bot, as the use of a command does. */
async function create({ api, seeded, bot, channelId, commands }: InteractionFixture): Promise<InteractionDoc> {
  const { db, ids } = api.platform;
  const _id = ids.next();
  const doc = {
    _id,
    applicationId: bot.applicationId,
    botId: bot.id,
    channelId,
    serverId: seeded.serverId,
    userId: seeded.ownerId,
    command: { id: commands.hello, name: 'hello' },
    ...newInteraction,
    outbox: [{ id: ids.next(), name: 'INTERACTION_CREATE' }],
  };
  const update = [{ $replaceWith: { $mergeObjects: [{ $literal: doc }, { createdAt: '$$NOW', outboxAt: '$$NOW' }] } }];
  const options = { upsert: true, returnDocument: 'after' } as const;
  return (await db.interactions.findOneAndUpdate({ _id }, update, options)) as InteractionDoc;
}

/** Creates an interaction to take steps with. */
export async function startSubject(fixture: InteractionFixture, collector: EventCollector): Promise<Subject> {
  const { api, worker, seeded, channelId } = fixture;
  const { db } = api.platform;
  const from = collector.received.length;
  let since = performance.now();
  // A delivery to an endpoint uses the interaction as it was when it was claimed. Only unanswered ones are claimed.
  const atClaim = await create(fixture);
  const id = atClaim._id;
  const posters = new Map<unknown, string>();

  const textOf = (by: string): string => `${id} ${by}`;
  const byOf = (content: unknown): string => String(content).replace(`${id} `, '');
  const line = JSON.stringify({ user: seeded.ownerId, name: 'hello' });

  const shown = (body: Record<string, unknown>): NonNullable<Reply['shown']> => {
    const { user, name } = body.interaction as { user: { id: string }; name: string };
    const as = JSON.stringify({ user: user.id, name }) === line && body.channelId === channelId ? '' : ' without its line';
    const by = `${posters.get(body.id)}${as}`;
    return { by, content: byOf(body.content), edited: body.editedAt !== null, hidden: body.ephemeral === true };
  };
  /** Reads a response. A 201 is the message of the step `by`, and so is a 200 that was not edited and has its text: the edit was the answer. */
  const read = ({ status, body }: Pick<Answer, 'status' | 'body'>, by: string): (() => Reply) => {
    if (status >= 400) return () => ({ status, code: String(body.code) });
    if (status === 204) return () => ({ status });
    const isPosted = status === 201 || (status === 200 && body.editedAt === null && byOf(body.content) === by);
    if (isPosted) posters.set(body.id, posters.has(body.id) ? 'two' : by);
    return () => ({ status, shown: shown(body) });
  };
  const send = async (method: string, route: string, body: object | undefined, by: string, token = fixture.tokenOf(id)) =>
    read(await api.call(method, `/api/interactions/${id}/${token}/${route}`, { body }), by);
  /** Applies an answer as the delivery to an endpoint does. */
  const answerByEndpoint = async (body: object, by: string): Promise<() => Reply> => {
    try {
      requireValid(CallbackInput, body, 'body');
      const { interaction, message, ephemeralView: hidden } = await decideAnswer(worker, atClaim, body as CallbackInput, worker.ids.next());
      await relayInteraction(worker, interaction, performance.now());
      if (!message) return read({ status: 204, body: {} }, by);
      const stored = hidden ? null : await findMessageByCreateId(worker, message.channelId, String(message.createId));
      return read({ status: 201, body: { ...(stored ? await toMessage(worker, stored, null) : hidden) } }, by);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      return read({ status: fault.status, body: { code: fault.code } }, by);
    }
  };
  const submit = (source: Source, body: object, by: string, token?: string): Promise<() => Reply> => {
    if (source === 'endpoint') return answerByEndpoint(body, by);
    return source === 'edit' ? send('PATCH', 'original', body, by, token) : send('POST', source.replace('-', ''), body, by, token);
  };
  const edits = (by: string) => ({ content: { content: textOf(by) }, same: {}, nothing: { content: '', embeds: [] } });
  const nothing = (): Reply => ({});

  const subject: Subject = {
    async take(step, by, ms) {
      switch (step.act) {
        case 'callback':
        case 'endpoint':
        case 'follow-up': {
          const { act, ...more } = step;
          return submit(act, { ...more, content: textOf(by) }, by);
        }
        case 'edit':
          return submit('edit', edits(by)[step.to], by);
        case 'delete':
          return send('DELETE', 'original', undefined, by);
        case 'bad body':
          return submit(step.source, step.body, by);
        case 'wrong token': {
          const token = fixture.tokenOf(seeded.serverId);
          if (step.source === 'delete') return send('DELETE', 'original', undefined, by, token);
          return submit(step.source, { type: 'message', content: textOf(by) }, by, token);
        }
        case 'view': {
          const { status, body } = await api.call('GET', `/api/interactions/${id}`, { as: fixture.asPerson });
          const original = () => (body.messageId === null ? null : (posters.get(body.messageId) ?? 'nobody'));
          return () => ({ status, view: { state: String(body.state), original: original() } });
        }
        case 'expire': {
          const leftMs = await expireUnanswered(worker, id);
          return () => ({ again: leftMs !== null });
        }
        case 'sweep':
          await sweepInteractions(worker);
          return nothing;
        case 'relay':
          await Promise.all(Array.from({ length: step.jobs }, () => relayEvents(worker, 'interaction', id)));
          return nothing;
        case 'pass':
          await subject.pass(ms);
          return nothing;
        default:
          return step satisfies never;
      }
    },
    async pass(ms) {
      const now = performance.now();
      const older = ms - (now - since);
      since = now;
      const back = (field: string) => ({ $cond: [{ $eq: [{ $type: field }, 'date'] }, { $subtract: [field, older] }, field] });
      const times = { createdAt: back('$createdAt'), openedAt: back('$openedAt'), outboxAt: back('$outboxAt') };
      await db.interactions.updateOne({ _id: id }, [{ $set: times }]);
    },
    driftMs: () => performance.now() - since,
    async finish() {
      await expireUnanswered(worker, id);
      let stored = await fixture.stored(id);
      for (let runs = 0; runs < 3 && stored.outbox; runs++) {
        await relayEvents(worker, 'interaction', id);
        stored = await fixture.stored(id);
      }
      const { state, messageId, answer, outbox, outboxAt } = stored;
      await collector.caughtUp();
      const filter = { 'interaction.id': id, deleted: { $exists: false } };
      const messages = await db.messages.find(filter).sort({ _id: 1 }).toArray();
      const posted = messages.map((message): Posted => {
        const { userId: user, name } = message.interaction as { userId: string; name: string };
        const as = JSON.stringify({ user, name }) === line && message.channelId === channelId ? '' : ' without its line';
        return { by: `${posters.get(message._id)}${as}`, content: byOf(message.content), edited: message.editedAt !== null };
      });
      const events = collector.received.slice(from).filter(({ data }) => data.id === id || String(data.content).startsWith(id));
      const toBot = events.filter(({ place, name }) => name === 'INTERACTION_CREATE' && place === accountPlace(fixture.bot.id));
      const toPerson = events.filter(({ place }) => place === accountPlace(seeded.ownerId));
      const others = events.filter((one) => !toBot.includes(one) && !toPerson.includes(one));
      return {
        state,
        original: messageId === null ? null : (posters.get(messageId) ?? 'nobody'),
        posted,
        received: toPerson.map(({ name, data }) =>
          name === 'INTERACTION_UPDATE' ? String(data.state) : `${shown(data).by}${data.ephemeral === true ? ', hidden' : ''}`,
        ),
        bot: toBot.length,
        unexpected: [...others, ...[answer, outbox, outboxAt].filter((field) => field !== undefined)],
      };
    },
  };
  return subject;
}
