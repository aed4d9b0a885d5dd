import { Refusal } from '../../lib/base/errors.ts';
import { checkFit } from '../../lib/contract/check.ts';
import { CallbackInput } from '../../lib/contract/message.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import { decideAnswer } from '../../lib/domain/interactions/interaction-answers.ts';
import { expireUnanswered, relayInteraction } from '../../lib/domain/interactions/interaction-outbox.ts';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { messageOfCreate } from '../../lib/domain/messages/message-draft.ts';
import { presentMessage } from '../../lib/domain/messages/message-view.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import type { Answer } from '../harness/api.ts';
import type { Scene } from '../harness/scene.ts';
import type { Ears } from './state-ears.ts';
import type { Model, Posted, Reply } from './state-model.ts';
import type { Step, Way } from './state-steps.ts';

/** What is left of an interaction's life when nothing is owed any more. */
export type Facts = Pick<Model, 'state' | 'original' | 'posted' | 'heard'> & {
  /** How often the bot was handed it. */
  bot: number;
  /** What others than the person heard of it, and what it still owes: nothing. */
  amiss: unknown[];
};

/** A real interaction that steps are taken with. */
export interface Subject {
  /** Takes a step named `by`; `ms` is how long a `pass` lasts. What it was answered is told later: steps at once may show one another's messages. */
  take(step: Step, by: string, ms: number): Promise<() => Reply>;
  /** Lets `ms` pass since the last call, no more and no less: what the machine took is given back. */
  pass(ms: number): Promise<void>;
  /** How much time passed by itself since the last call of `pass`, in milliseconds. */
  driftMs(): number;
  /** Delivers until nothing is owed, and looks. */
  settle(): Promise<Facts>;
}

/** Stores an interaction as the use of a command does, the event to the bot owed. */
async function create({ api, world, bot, channelId, commands }: Scene): Promise<InteractionDoc> {
  const { db, ids } = api.platform;
  const _id = ids.next();
  const doc = {
    _id,
    applicationId: bot.applicationId,
    botId: bot.id,
    channelId,
    serverId: world.serverId,
    userId: world.ownerId,
    userRoles: [],
    command: { id: commands.hello, name: 'hello' },
    options: [],
    state: 'created',
    openedAt: null,
    ephemeral: false,
    messageId: null,
    endpoint: false,
    deliveredAt: null,
    ob: [{ id: ids.next(), name: 'INTERACTION_CREATE' }],
  };
  const update = [{ $replaceWith: { $mergeObjects: [{ $literal: doc }, { createdAt: '$$NOW', obAt: '$$NOW' }] } }];
  const options = { upsert: true, returnDocument: 'after' } as const;
  return (await db.interactions.collection.findOneAndUpdate({ _id: _id as never }, update, options)) as unknown as InteractionDoc;
}

/** Creates an interaction to take steps with. */
export async function startSubject(scene: Scene, ears: Ears): Promise<Subject> {
  const { api, worker, world, channelId } = scene;
  const { db } = api.platform;
  const from = ears.said.length;
  let since = performance.now();
  // An endpoint's delivery holds the interaction as it stood at its claim, and only an unanswered one is claimed.
  const atClaim = await create(scene);
  const id = atClaim._id;
  const posters = new Map<unknown, string>();

  const textOf = (by: string): string => `${id} ${by}`;
  const byOf = (content: unknown): string => String(content).replace(`${id} `, '');
  const line = JSON.stringify({ user: world.ownerId, name: 'hello' });

  const shown = (body: Record<string, unknown>): NonNullable<Reply['shown']> => {
    const { user, name } = body.interaction as { user: { id: string }; name: string };
    const as = JSON.stringify({ user: user.id, name }) === line && body.channelId === channelId ? '' : ' without its line';
    const by = `${posters.get(body.id)}${as}`;
    return { by, content: byOf(body.content), edited: body.editedAt !== null, hidden: body.ephemeral === true };
  };
  /** What an answer says; a 201 is the message of the step `by`. */
  const read = ({ status, body }: Pick<Answer, 'status' | 'body'>, by: string): (() => Reply) => {
    if (status >= 400) return () => ({ status, code: String(body.code) });
    if (status === 204) return () => ({ status });
    if (status === 201) posters.set(body.id, posters.has(body.id) ? 'two' : by);
    return () => ({ status, shown: shown(body) });
  };
  const send = async (method: string, route: string, body: object | undefined, by: string, token = scene.tokenOf(id)) =>
    read(await api.call(method, `/api/interactions/${id}/${token}/${route}`, { body }), by);
  /** Gives an answer as the delivery to an endpoint does. */
  const endpoint = async (body: object, by: string): Promise<() => Reply> => {
    try {
      checkFit(CallbackInput, body, 'body');
      const { interaction, message, hidden } = await decideAnswer(worker, atClaim, body as CallbackInput, worker.ids.next());
      await relayInteraction(worker, interaction, performance.now());
      if (!message) return read({ status: 204, body: {} }, by);
      const stored = hidden ? null : await messageOfCreate(worker, String(message.createId));
      return read({ status: 201, body: { ...(stored ? await presentMessage(worker, stored, null) : hidden) } }, by);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      return read({ status: fault.status, body: { code: fault.code } }, by);
    }
  };
  const bring = (way: Way, body: object, by: string, token?: string): Promise<() => Reply> => {
    if (way === 'endpoint') return endpoint(body, by);
    return way === 'edit' ? send('PATCH', 'original', body, by, token) : send('POST', way.replace('-', ''), body, by, token);
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
          return bring(act, { ...more, content: textOf(by) }, by);
        }
        case 'edit':
          return bring('edit', edits(by)[step.to], by);
        case 'delete':
          return send('DELETE', 'original', undefined, by);
        case 'bad body':
          return bring(step.way, step.body, by);
        case 'wrong token': {
          const token = scene.tokenOf(world.serverId);
          if (step.way === 'delete') return send('DELETE', 'original', undefined, by, token);
          return bring(step.way, { type: 'message', content: textOf(by) }, by, token);
        }
        case 'view': {
          const { status, body } = await api.call('GET', `/api/interactions/${id}`, { as: scene.asPerson });
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
        case 'deliver':
          await Promise.all(Array.from({ length: step.jobs }, () => relay(worker, 'interaction', id)));
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
      const times = { createdAt: back('$createdAt'), openedAt: back('$openedAt'), obAt: back('$obAt') };
      await db.interactions.collection.updateOne({ _id: id as never }, [{ $set: times }]);
    },
    driftMs: () => performance.now() - since,
    async settle() {
      await expireUnanswered(worker, id);
      let stored = await scene.stored(id);
      for (let runs = 0; runs < 3 && stored.ob; runs++) {
        await relay(worker, 'interaction', id);
        stored = await scene.stored(id);
      }
      const { state, messageId, answer, ob, obAt } = stored;
      await ears.caughtUp();
      const standing = { 'interaction.id': id, deleted: { $exists: false } };
      const messages = await db.messages.collection
        .find(standing as never)
        .sort({ _id: 1 })
        .toArray();
      const posted = messages.map((message): Posted => {
        const { userId: user, name } = message.interaction as { userId: string; name: string };
        const as = JSON.stringify({ user, name }) === line && message.channelId === channelId ? '' : ' without its line';
        return { by: `${posters.get(String(message._id))}${as}`, content: byOf(message.content), edited: message.editedAt !== null };
      });
      const said = ears.said.slice(from).filter(({ data }) => data.id === id || String(data.content).startsWith(id));
      const toBot = said.filter(({ place, name }) => name === 'INTERACTION_CREATE' && place === accountPlace(scene.bot.id));
      const toPerson = said.filter(({ place }) => place === accountPlace(world.ownerId));
      const others = said.filter((one) => !toBot.includes(one) && !toPerson.includes(one));
      return {
        state,
        original: messageId === null ? null : (posters.get(messageId) ?? 'nobody'),
        posted,
        heard: toPerson.map(({ name, data }) =>
          name === 'INTERACTION_UPDATE' ? String(data.state) : `${shown(data).by}${data.ephemeral === true ? ', hidden' : ''}`,
        ),
        bot: toBot.length,
        amiss: [...others, ...[answer, ob, obAt].filter((owed) => owed !== undefined)],
      };
    },
  };
  return subject;
}
