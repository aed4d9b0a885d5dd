import { expect } from 'chai';
import { copyFiles } from '../../lib/domain/files/file-copies.ts';
import { dropFiles, settleFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { fileDocs, formOf, onDisk, sendBody } from './fixture.ts';

const kib = 1024;

describe('storage of an account and of a server', () => {
  let api: TestApi;
  let world: World;
  afterEach(() => api.close());

  const start = async (account: number, server: number): Promise<void> => {
    api = await startTestApi({ STORAGE_PER_ACCOUNT_MIB: String(account), STORAGE_PER_SERVER_MIB: String(server) });
    world = await makeWorld(api.platform, { bots: 3, channels: 1 });
  };
  const post = (slot: number, size: number) => {
    const files = [{ name: 'a.bin', bytes: Buffer.alloc(size), type: 'application/octet-stream' }];
    const url = `${api.url}/api/channels/${world.channelIds[0]}/messages`;
    return sendBody(url, `Bot ${world.bots[slot]?.token}`, formOf({ content: 'x' }, files));
  };
  /** The bytes counted towards the account of a bot, and towards the server. */
  const stored = async (slot = 0): Promise<(number | undefined)[]> => {
    const { accounts, servers } = api.platform.db;
    const [account, server] = await Promise.all([
      accounts.findOne({ _id: String(world.bots[slot]?.id) }).lean(),
      servers.findOne({ _id: world.serverId }).lean(),
    ]);
    return [account?.storedBytes, server?.storedBytes];
  };

  it('ten uploads at once keep no more than the account may, and 400 storage_full names the limit; a delete gives room again', async () => {
    await start(1, 0);
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(0, 300 * kib)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).to.have.length(7);
    for (const { status, body } of refused) {
      expect([status, body.code]).to.deep.equal([400, 'storage_full']);
      expect((body as unknown as { message: string }).message).to.equal(
        'Storage is full: your account keeps at most 1 MiB of files. Delete messages with files first.',
      );
    }
    expect(await stored()).to.deep.equal([900 * kib, 900 * kib]);
    expect([(await fileDocs(api)).length, (await onDisk(api)).blobs.length]).to.deep.equal([3, 3]);
    expect((await post(1, 300 * kib)).status, 'another account').to.equal(201);

    const id = answers.find(({ status }) => status === 201)?.body.id ?? '';
    const path = `/api/channels/${world.channelIds[0]}/messages/${id}`;
    expect((await api.call('DELETE', path, { as: `Bot ${world.bots[0]?.token}` })).status).to.equal(204);
    await Promise.all([settleFiles(api.platform, id), settleFiles(api.platform, id)]);
    await settleFiles(api.platform, id);
    expect(await stored()).to.deep.equal([600 * kib, 900 * kib]);
    expect((await post(0, 400 * kib)).status).to.equal(201);
  });

  it('a server keeps no more than it may, whoever posts, and who was refused there has their room back', async () => {
    await start(0, 1);
    const answers = await Promise.all([0, 1, 2].map((slot) => post(slot, 600 * kib)));
    expect(answers.filter(({ status }) => status === 400)).to.have.length(2);
    const slot = answers.findIndex(({ status }) => status === 400);
    expect(answers[slot]?.body).to.include({
      message: 'Storage is full: this server keeps at most 1 MiB of files. Delete messages with files first.',
    });
    expect(await stored(slot)).to.deep.equal([0, 600 * kib]);
  });

  it('a file that no message holds gives its bytes back to the account and the server when the sweep takes it', async () => {
    await start(1, 1);
    expect((await post(0, 600 * kib)).status).to.equal(201);
    await api.platform.db.messages.deleteMany({});
    await api.platform.db.files.updateMany({}, { $set: { openAt: new Date(0) } });
    await sweepFiles(api.platform);
    expect(await stored()).to.deep.equal([0, 0]);
  });

  it('copies share the bytes: they count once, until the last of them goes', async () => {
    await start(1, 1);
    const { body } = await post(0, 600 * kib);
    const source = (await api.platform.db.messages.findOne({ _id: body.id }).lean()) as MessageDoc;
    const owners = [1, 2].map(() => ({ messageId: api.platform.ids.next(), channelId: source.channelId }));
    await copyFiles(api.platform, source, owners);
    const ids = (await fileDocs(api)).map(({ _id }) => _id);
    expect(ids).to.have.length(3);
    await dropFiles(api.platform, ids.slice(0, 1));
    expect(await stored()).to.deep.equal([600 * kib, 600 * kib]);
    await Promise.all(ids.slice(1).map((id) => dropFiles(api.platform, [id])));
    expect(await stored()).to.deep.equal([0, 0]);
    expect((await onDisk(api)).blobs).to.deep.equal([]);
  });
});
