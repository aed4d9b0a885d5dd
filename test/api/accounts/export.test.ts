import { expect } from 'chai';
import type { Export } from '../../../lib/contract/auth.ts';
import { deleteExportsOf } from '../../../lib/domain/exports/exports.ts';
import { runExport, sweepExports } from '../../../lib/domain/exports/work.ts';
import { BlobsUnavailable } from '../../../lib/store/files/temp.ts';
import { takeBackupLease } from '../../../lib/store/mongo/backup-lease.ts';
import { onDisk } from '../../files/fixture.ts';
import { startTestApiWithWorker } from '../../harness/api.ts';
import { makePerson, password } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { startParlance } from '../../harness/parlance.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';
import { downloadExport, exportBlobs, exportDoc, exportPath, makeDue, makeExport, readArchive, requestExport } from './export-fixture.ts';

const dayMs = 24 * 60 * 60_000;

describe('export of a person’s data', () => {
  const api = use(startTestApiWithWorker);
  const person = make(() => makePerson(api), { each: true });
  const current = (): Promise<Export | null> => send<Export | null>(api, 200, person, 'GET', exportPath);
  const noticesOf = async (): Promise<string[]> => {
    const [dm] = await api.platform.db.dms.find({ userIds: person.id }).toArray();
    const found = await api.platform.db.messages.find({ channelId: dm?._id ?? '' }).toArray();
    return found.map(({ content }) => content);
  };
  /** After each test, every part on the disk belongs to a document. */
  afterEach(async () => {
    const docs = await api.platform.db.exports.find({}).toArray();
    const known = docs.flatMap(({ key, parts }) =>
      parts.flatMap((many, at) => Array.from({ length: many }, (_, part) => `${key}-${at + 1}-${part + 1}`)),
    );
    const unknown = (await exportBlobs(api)).filter((name) => !known.includes(name));
    expect(unknown, 'blobs without a document').to.deep.equal([]);
    expect((await onDisk(api)).incoming, 'local files').to.deep.equal([]);
  });

  it('is null before the first request, and needs the right password', async () => {
    expect(await current()).to.equal(null);
    const { errors } = await refused(api, [400, 'invalid_request'], person, 'POST', exportPath, { password: 'a wrong password' });
    expect(errors).to.deep.equal([{ path: '/password', message: 'This is not your current password.' }]);
    await refused(api, [400, 'invalid_request'], person, 'POST', exportPath, {});
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('of simultaneous requests one is made, and all get it', async () => {
    const answers = await inParallel(8, () => api.call<Export>('POST', exportPath, { as: person.as, body: { password } }));
    expect(tally(answers)).to.deep.equal({ 202: 8 });
    expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1);
    await api.platform.db.exports.deleteOne({ accountId: person.id });
    const others: Export[] = [];
    beforeNextQuery(api.platform.db.exports, 'insertOne', async () => others.push(await requestExport(api, person)));
    expect([await requestExport(api, person)]).to.deep.equal(others);
    expect(await api.platform.db.exports.countDocuments({ accountId: person.id })).to.equal(1);
    expect(await current()).to.deep.include({ state: 'waiting', bytes: null, expiresAt: null });
  });

  it('is downloaded by its owner only, once it is ready', async () => {
    expect((await downloadExport(api, person)).status).to.equal(404);
    await requestExport(api, person);
    expect((await downloadExport(api, person)).status).to.equal(404);
    const { id } = (await current()) ?? expect.fail();
    await runExport(api.worker, id);
    const { bytes, expiresAt } = (await current()) ?? expect.fail();
    const { status, headers, body } = await downloadExport(api, person);
    expect([status, body.length]).to.deep.equal([200, bytes]);
    expect(readArchive(body).has('account.json')).to.equal(true);
    const shown = ['content-type', 'cache-control', 'x-content-type-options'].map((name) => headers.get(name));
    expect(shown).to.deep.equal(['application/zip', 'no-store', 'nosniff']);
    expect(headers.get('Content-Disposition')).to.match(/^attachment; filename="?parlance-\d{4}-\d\d-\d\d\.zip"?$/);
    expect(Date.parse(expiresAt ?? '') - Date.now()).to.be.closeTo(7 * dayMs, 60_000);
    const head = await downloadExport(api, person, 'HEAD');
    expect([head.status, head.headers.get('Content-Length'), head.body.length]).to.deep.equal([200, String(bytes), 0]);
    expect((await downloadExport(api, await makePerson(api))).status).to.equal(404);
    expect((await downloadExport(api, { ...person, as: 'Bearer x' })).status).to.equal(401);
  });

  it('can be requested once in 24 hours, also after it was deleted', async () => {
    await makeExport(api, person);
    for (const isDeleted of [false, true]) {
      if (isDeleted) {
        await send(api, 204, person, 'DELETE', exportPath);
        expect([await current(), (await downloadExport(api, person)).status]).to.deep.equal([null, 404]);
        await refused(api, [404, 'not_found'], person, 'DELETE', exportPath);
      }
      const { retryAfter } = await refused(api, [429, 'exported_recently'], person, 'POST', exportPath, { password });
      expect(retryAfter).to.be.within(dayMs / 1000 - 60, dayMs / 1000);
    }
  });

  it('a new request replaces a ready one with its bytes', async () => {
    const first = await makeExport(api, person);
    const { key } = (await exportDoc(api, person)) ?? expect.fail();
    await makeDue(api, person, { nextAt: new Date() });
    const answers = await inParallel(4, () => api.call<Export>('POST', exportPath, { as: person.as, body: { password } }));
    expect(tally(answers)).to.deep.equal({ 202: 4 });
    expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1);
    expect(answers[0]?.body.id).to.not.equal(first.id);
    expect((await exportBlobs(api)).filter((name) => name.startsWith(key))).to.deep.equal([]);
  });

  it('tells the person once, also if the worker runs again', async () => {
    const { id } = await makeExport(api, person);
    await makeDue(api, person, {});
    await api.platform.db.exports.updateOne({ _id: id }, { $unset: { announced: 1 } });
    await sweepExports(api.worker);
    await runExport(api.worker, id);
    const notices = await noticesOf();
    expect(notices).to.have.length(1);
    expect(notices[0]).to.match(/^Your data is ready\./);
    expect((await exportDoc(api, person))?.attempts).to.equal(1);
  });

  it('expires: nobody can download it, and the sweep deletes its bytes and its document', async () => {
    await makeExport(api, person);
    await makeDue(api, person, { expiresAt: new Date(Date.now() - 1_000) });
    expect([await current(), (await downloadExport(api, person)).status]).to.deep.equal([null, 404]);
    expect(await exportBlobs(api)).to.not.deep.equal([]);
    await sweepExports(api.worker);
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('that is deleted while a worker makes it is not stored', async () => {
    const { id } = await requestExport(api, person);
    interceptNext(api.worker.blobs, 'put', async (put) => {
      await send(api, 204, person, 'DELETE', exportPath);
      return put();
    });
    await runExport(api.worker, id);
    expect(await current()).to.equal(null);
    expect(await noticesOf()).to.deep.equal([]);
    expect(await exportDoc(api, person)).to.deep.include({ state: 'deleted' });
    const { key } = (await exportDoc(api, person)) ?? expect.fail();
    expect(await exportBlobs(api)).to.include(`${key}-1-1`); // it was stored late
    await makeDue(api, person, { keepUntil: new Date() });
    await sweepExports(api.worker);
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('of a deleted account is deleted, and a repeated call changes nothing', async () => {
    await makeExport(api, person);
    const { key } = (await exportDoc(api, person)) ?? expect.fail();
    for (let times = 0; times < 2; times++) await deleteExportsOf(api.worker, person.id);
    expect((await exportBlobs(api)).filter((name) => name.startsWith(key))).to.deep.equal([]);
    expect(await exportDoc(api, person)).to.deep.include({ state: 'deleted' });
    await makeDue(api, person, { keepUntil: new Date() });
    await sweepExports(api.worker);
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('of an account that is gone is not made', async () => {
    const { id } = await requestExport(api, person);
    await api.platform.db.accounts.deleteOne({ _id: person.id });
    await runExport(api.worker, id);
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('is made again after a fault, and has failed after the tenth; then another one can be requested', async () => {
    const { id } = await requestExport(api, person);
    const fail = async (): Promise<void> => {
      interceptNext(api.worker.blobs, 'put', () => Promise.reject(new BlobsUnavailable(new Error('full'))));
      await runExport(api.worker, id).then(
        () => expect.fail('the job must count as failed'),
        (error: unknown) => expect(error).to.be.instanceOf(BlobsUnavailable),
      );
      await api.worker.blobs.removeOldTemp(-1);
    };
    await fail();
    const waiting = (await exportDoc(api, person)) ?? expect.fail();
    expect(waiting).to.deep.include({ state: 'waiting', attempts: 1 });
    expect(waiting.dueAt.getTime() - Date.now()).to.be.closeTo(60_000, 10_000);
    await api.platform.db.exports.updateOne({ _id: id }, { $set: { attempts: 9, parts: Array.from({ length: 9 }, () => 0) } });
    await fail();
    expect(await current()).to.deep.include({ id, state: 'failed', bytes: null });
    expect((await makeExport(api, person)).id).to.not.equal(id);
  });

  it('is handed back by a worker that stops, and made by another one', async () => {
    const { id } = await requestExport(api, person);
    const stopping = new AbortController();
    interceptNext(api.worker.blobs, 'put', async (put) => {
      stopping.abort();
      return put();
    });
    await runExport({ ...api.worker, stopping: stopping.signal }, id);
    expect(await exportDoc(api, person)).to.deep.include({ state: 'waiting', attempts: 1 });
    expect(await current()).to.deep.include({ state: 'waiting' });
    await runExport(api.worker, id);
    expect(await current()).to.deep.include({ id, state: 'ready' });
    expect(await noticesOf()).to.have.length(1);
  });

  it('a paused worker whose export was taken over changes nothing', async () => {
    const { id } = await requestExport(api, person);
    interceptNext(api.worker.blobs, 'put', async (put) => {
      await makeDue(api, person);
      await sweepExports(api.worker); // its lease has expired
      await runExport(api.worker, id); // another worker
      return put();
    });
    await runExport(api.worker, id);
    const doc = (await exportDoc(api, person)) ?? expect.fail();
    expect(doc).to.deep.include({ state: 'ready', attempts: 2, parts: [1, 1] });
    const { body } = await downloadExport(api, person);
    expect(readArchive(body).has('summary.json')).to.equal(true);
    await makeDue(api, person, { expiresAt: new Date() });
    await sweepExports(api.worker);
    expect(await exportDoc(api, person)).to.equal(null);
  });

  it('does not wait for a backup, which has neither its document nor its bytes', async () => {
    const lease = await takeBackupLease(api.platform.db);
    try {
      await makeExport(api, person);
      const { key } = (await exportDoc(api, person)) ?? expect.fail();
      await send(api, 204, person, 'DELETE', exportPath);
      expect((await exportBlobs(api)).filter((name) => name.startsWith(key))).to.deep.equal([]);
    } finally {
      lease.release();
    }
  });
});

describe('exports in the queue', () => {
  const api = use(() => startParlance());
  it('a worker makes those that were requested, and those whose job was lost', async () => {
    const [first, second] = [await makePerson(api), await makePerson(api)];
    const { id } = await requestExport(api, first);
    const isReady = async ({ id: accountId }: Caller): Promise<boolean> =>
      (await api.platform.db.exports.findOne({ accountId }))?.state === 'ready';
    await waitUntil(() => isReady(first), 'the requested export is ready');
    const { announced: _, ...plain } = (await api.platform.db.exports.findOne({ _id: id })) ?? expect.fail();
    const fresh = { accountId: second.id, key: 'c'.repeat(32), state: 'waiting' as const, attempts: 0, parts: [], dueAt: new Date(1_000) };
    await api.platform.db.exports.insertOne({ ...plain, ...fresh, _id: api.platform.ids.next() });
    await waitUntil(() => isReady(second), 'the export whose job was lost is ready');
  });
});
