import { expect } from 'chai';
import { copyFiles } from '../../lib/domain/files/file-copies.ts';
import { decideMessageFiles, deleteFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { inParallel, send } from '../harness/requests.ts';
import { botOf, type SeededServer, seedServer } from '../harness/seed.ts';
import { fileDocs, formOf, onDisk, sendBody } from './fixture.ts';

const kib = 1024;

describe('storage limits of accounts and servers', () => {
  let api: TestApi;
  let seeded: SeededServer;
  afterEach(() => api.close());

  const start = async (accountMib: number, serverMib: number): Promise<void> => {
    api = await startTestApi({ STORAGE_PER_ACCOUNT_MIB: String(accountMib), STORAGE_PER_SERVER_MIB: String(serverMib) });
    seeded = await seedServer(api.platform, { bots: 3, channels: 1 });
  };
  const path = (): string => `/api/channels/${seeded.channelIds[0]}/messages`;
  const post = (slot: number, size: number) => {
    const files = [{ name: 'a.bin', bytes: Buffer.alloc(size), type: 'application/octet-stream' }];
    return sendBody(`${api.url}${path()}`, botOf(seeded, slot).as, formOf({ content: 'x' }, files));
  };
  /** The bytes counted for the account of a bot and for the server. */
  const stored = async (slot = 0): Promise<(number | undefined)[]> => {
    const { accounts, servers } = api.platform.db;
    const [accountDoc, serverDoc] = await Promise.all([
      accounts.findOne({ _id: botOf(seeded, slot).id }),
      servers.findOne({ _id: seeded.serverId }),
    ]);
    return [accountDoc?.storedBytes, serverDoc?.storedBytes];
  };

  it('400 storage_full names the limit of the account, also for 10 parallel uploads; a delete frees storage', async () => {
    await start(1, 0);
    const answers = await inParallel(10, () => post(0, 300 * kib));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).to.have.length(7);
    for (const { status, body } of refused) {
      expect([status, body.code]).to.deep.equal([400, 'storage_full']);
      expect((body as unknown as { message: string }).message).to.equal(
        'Storage is full: your account can store at most 1 MiB of files. Delete messages with files first.',
      );
    }
    expect(await stored()).to.deep.equal([900 * kib, 900 * kib]);
    expect([(await fileDocs(api)).length, (await onDisk(api)).blobs.length]).to.deep.equal([3, 3]);
    expect((await post(1, 300 * kib)).status, 'another account').to.equal(201);

    const id = answers.find(({ status }) => status === 201)?.body.id ?? '';
    await send(api, 204, botOf(seeded), 'DELETE', `${path()}/${id}`);
    await inParallel(2, () => decideMessageFiles(api.platform, id));
    await decideMessageFiles(api.platform, id);
    expect(await stored()).to.deep.equal([600 * kib, 900 * kib]);
    expect((await post(0, 400 * kib)).status).to.equal(201);
  });

  it('400 storage_full for a full server, whoever posts, and does not count the refused bytes for the account', async () => {
    await start(0, 1);
    const answers = await inParallel(3, (slot) => post(slot, 600 * kib));
    expect(answers.filter(({ status }) => status === 400)).to.have.length(2);
    const slot = answers.findIndex(({ status }) => status === 400);
    expect(answers[slot]?.body).to.include({
      message: 'Storage is full: this server can store at most 1 MiB of files. Delete messages with files first.',
    });
    expect(await stored(slot)).to.deep.equal([0, 600 * kib]);
  });

  it('the sweep of a file without a message frees its bytes for the account and the server', async () => {
    await start(1, 1);
    expect((await post(0, 600 * kib)).status).to.equal(201);
    await api.platform.db.messages.deleteMany({});
    await api.platform.db.files.updateMany({}, { $set: { openAt: new Date(0) } });
    await sweepFiles(api.platform);
    expect(await stored()).to.deep.equal([0, 0]);
  });

  it('counts the bytes of copies once, until the last copy is deleted', async () => {
    await start(1, 1);
    const { body } = await post(0, 600 * kib);
    const source = (await api.platform.db.messages.findOne({ _id: body.id })) as MessageDoc;
    const owners = [1, 2].map(() => ({ messageId: api.platform.ids.next(), channelId: source.channelId }));
    await copyFiles(api.platform, source, owners);
    const docs = await fileDocs(api);
    expect(docs).to.have.length(3);
    await deleteFiles(api.platform, docs.slice(0, 1));
    expect(await stored()).to.deep.equal([600 * kib, 600 * kib]);
    await Promise.all(docs.slice(1).map((doc) => deleteFiles(api.platform, [doc])));
    expect(await stored()).to.deep.equal([0, 0]);
    expect((await onDisk(api)).blobs).to.deep.equal([]);
  });
});
