// These tests cover backups of an installation that is in use. The operators' command line runs as a process where it is killed, or uses stdin and stdout.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { expect } from 'chai';
import { extract, pack } from 'tar-stream';
import type { Config } from '../../config/index.ts';
import type { Message } from '../../lib/contract/message.ts';
import { toChecksumLine } from '../../lib/domain/backup/archive-writer.ts';
import { formOf, onDisk, sendBody } from '../files/fixture.ts';
import type { TestApi } from '../harness/api.ts';
import { botOf, type SeededServer, seedServer } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { type RunHere, runHere } from './run-here.ts';
import { storesOf } from './run-operator.ts';

/** The environment of the operators' commands on the stores of `config`. */
export const backupEnv = (config: Config): Record<string, string> => {
  const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY, STORE_TIMEOUT_FACTOR } = config;
  const s3 = S3_ENDPOINT ? { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY } : {};
  return { ...settingsOf(config), STORE_TIMEOUT_FACTOR: String(STORE_TIMEOUT_FACTOR), ...s3 };
};

/** The settings of empty stores for a backup of `source`, with its key. */
export function emptyTarget(source: Config, overrides: Record<string, string> = {}): Config {
  const { MONGODB_URL, REDIS_PREFIX, FILES_DIR } = testConfig();
  return testConfig({ MONGODB_URL, REDIS_PREFIX, FILES_DIR, APP_KEY: source.APP_KEY.toString('base64'), ...overrides });
}

/** The settings that start an installation on the stores of `config`. */
export const settingsOf = (config: Config): Record<string, string> => ({ ...storesOf(config), FILES_DIR: config.FILES_DIR });

/** Runs a command that must succeed, in this process. */
export async function runDone(args: readonly string[], config: Config): Promise<RunHere> {
  const run = await runHere(args, config);
  expect(run.exitCode, run.text).to.equal(0);
  return run;
}

/** A post that was answered, with the SHA-256 of its file, and the number of its reactions. */
export interface Answered {
  message: Message;
  sha256: string | null;
  reactions: number;
}

/** A server whose bots post, react and delete without a pause. */
export interface Load {
  server: SeededServer;
  /** What was answered so far and not deleted. */
  answered: Map<string, Answered>;
  /** Posts `count` messages, every third one with a file, reacts to half of them, and deletes every seventh. */
  post: (count: number) => Promise<void>;
  /** Goes on until `until` has settled. */
  during<T>(until: Promise<T>): Promise<T>;
}

const bytesOf = (text: string): Buffer => Buffer.from(text.repeat(2_000));
const sha256Of = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');

/** Prepares a load for an installation. */
export async function makeLoad(api: TestApi): Promise<Load> {
  const server = await seedServer(api.platform, { bots: 4, channels: 3 });
  const answered = new Map<string, Answered>();
  let posted = 0;
  async function postOne(at: number): Promise<void> {
    const n = posted++;
    const { as } = botOf(server, at);
    const path = `/api/channels/${server.channelIds[n % server.channelIds.length]}/messages`;
    const bytes = n % 3 === 0 ? bytesOf(`post ${n} `) : null;
    const files = bytes ? [{ name: `${n}.txt`, bytes, type: 'text/plain' }] : [];
    const { status, body } = await sendBody(api.url + path, as, formOf({ content: `post ${n}` }, files));
    expect(status, JSON.stringify(body)).to.equal(201);
    const entry = { message: body, sha256: bytes && sha256Of(bytes), reactions: 0 };
    answered.set(body.id, entry);
    if (n % 2 === 0) {
      const reacted = await api.call('PUT', `${path}/${body.id}/reactions/${encodeURIComponent('👍')}`, { as });
      expect(reacted.status).to.equal(204);
      entry.reactions = 1;
    }
    if (n % 7 === 0) {
      answered.delete(body.id);
      expect((await api.call('DELETE', `${path}/${body.id}`, { as })).status).to.equal(204);
    }
  }
  const post = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 4) await Promise.all([0, 1, 2, 3].map(postOne));
  };
  return {
    server,
    answered,
    post,
    async during(until) {
      let isOver = false;
      const over = until.finally(() => {
        isOver = true;
      });
      over.catch(() => undefined);
      while (!isOver) await post(4);
      return over;
    },
  };
}

/** Expects that every one of `answered` can be read in `api` with its file and its reaction, and that nothing there refers to something that is missing. */
export async function expectRestored(api: TestApi, { server }: Load, answered: Iterable<Answered>): Promise<void> {
  const { as } = botOf(server);
  for (const { message, sha256, reactions } of answered) {
    const { status, body } = await api.call<Message>('GET', `/api/channels/${message.channelId}/messages/${message.id}`, { as });
    expect([status, body.content], message.id).to.deep.equal([200, message.content]);
    expect(body.reactions?.[0]?.count ?? 0, `reactions of ${message.id}`).to.equal(reactions);
    const [file] = body.attachments;
    if (sha256 === null) continue;
    const response = await fetch(api.url + new URL(String(file?.url)).pathname);
    expect([response.status, sha256Of(Buffer.from(await response.arrayBuffer()))], `file of ${message.id}`).to.deep.equal([200, sha256]);
  }
  await expectNothingDangles(api);
}

/** Expects that every reference in the database leads somewhere. */
async function expectNothingDangles(api: TestApi): Promise<void> {
  const { db, blobs } = api.platform;
  const idsOf = async (name: 'channels' | 'servers' | 'accounts' | 'members'): Promise<Set<string>> =>
    new Set((await db[name].find({}, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
  const [channels, servers, accounts, members] = await Promise.all([
    idsOf('channels'),
    idsOf('servers'),
    idsOf('accounts'),
    idsOf('members'),
  ]);
  const messages = await db.messages.find().toArray();
  const files = new Map((await db.files.find().toArray()).map((file) => [file._id, file]));
  const live = messages.filter(({ deleted }) => !deleted);
  for (const message of messages) expect(channels.has(message.channelId), `channel of ${message._id}`).to.equal(true);
  for (const { authorId, serverId } of live) expect([accounts.has(authorId), servers.has(String(serverId))]).to.deep.equal([true, true]);
  for (const { id } of live.flatMap(({ attachments }) => attachments)) {
    const file = files.get(id);
    expect(file?.state, `file ${id}`).to.equal('stored');
    const blob = await blobs.open(String(file?.blob));
    expect(blob, `bytes of ${id}`).to.not.equal(null);
    blob?.stream.destroy();
  }
  const used = new Set([...files.values()].flatMap(({ blob, original }) => [blob, original]));
  for (const name of (await onDisk(api)).blobs) expect(used.has(name), `document of the blob ${name}`).to.equal(true);
  const known = new Set(messages.map(({ _id }) => _id));
  const counts = new Map<string, number>();
  for (const { _id, messageId, eventId } of await db.reactions.find().toArray()) {
    expect(known.has(messageId), `message of the reaction ${_id}`).to.equal(true);
    if (eventId === undefined) counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
  }
  for (const { _id, reactionCount = 0, outbox } of live)
    if (!outbox?.length) expect(reactionCount, `counters of ${_id}`).to.equal(counts.get(_id) ?? 0);
  for (const { serverId, userId } of await db.memberships.find().toArray())
    expect(members.has(`${serverId}:${userId}`), 'member of a membership').to.equal(true);
  expect(await db.memberships.countDocuments()).to.equal(members.size);
}

/** Rewrites an archive, with the content that `change` returns for each entry; null leaves it out. */
export async function rewrite(from: string, to: string, change: (name: string, data: Buffer) => Buffer | null): Promise<void> {
  const [input, output] = [extract(), pack()];
  const read = pipeline(createReadStream(from), createGunzip(), input);
  const written = pipeline(output, createGzip(), createWriteStream(to));
  for await (const entry of input as AsyncIterable<AsyncIterable<Buffer> & { header: { name: string } }>) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk);
    const data = change(entry.header.name, Buffer.concat(chunks));
    if (data) output.entry({ name: entry.header.name }, data);
  }
  output.finalize();
  await Promise.all([read, written]);
}

/** Rewrites the manifest of an archive, with its checksum. */
export async function rewriteManifest(from: string, to: string, change: (text: string) => string): Promise<void> {
  let manifest = '';
  await rewrite(from, to, (name, data) => {
    if (name === 'backup.json') manifest = change(String(data));
    if (name === 'backup.json.sha256') return Buffer.from(toChecksumLine(sha256Of(manifest), 'backup.json'));
    return name === 'backup.json' ? Buffer.from(manifest) : data;
  });
}
