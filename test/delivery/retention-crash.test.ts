import { expect } from 'chai';
import { composeId } from '../../lib/base/ids.ts';
import { sweepFiles } from '../../lib/domain/files/files.ts';
import { restartRetention, sweepRetention } from '../../lib/domain/jobs/retention-sweep.ts';
import { setMessageRetention } from '../../lib/domain/operators/servers.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { formOf, sendBody } from '../files/fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { useServer } from '../harness/use.ts';

describe('retention: killed workers', () => {
  const { api, owner, server } = useServer({}, { start: startTestApiWithWorker });
  const start = useOwnProcess(() => api.platform.config);

  it('a worker killed between the files and the messages: another one deletes both', async () => {
    const { messages, files } = api.platform.db;
    const sent = [{ name: 'a.bin', bytes: Buffer.alloc(1000), type: 'application/octet-stream' }];
    const { body } = await sendBody(`${api.url}/api/channels/${server.general}/messages`, owner.as, formOf({ content: 'x' }, sent));
    await relayEvents(api.worker, 'channel', server.general);
    const doc = (await messages.findOne({ _id: body.id })) ?? expect.fail();
    // The same message, three days old.
    const old = composeId(Date.now() - 3 * 24 * 60 * 60_000, 0, 0);
    await messages.deleteOne({ _id: doc._id });
    await messages.insertOne({ ...doc, _id: old });
    await files.updateMany({ messageId: doc._id }, { $set: { messageId: old } });
    await expectKilled(await start('worker', 'during-retention'), () => setMessageRetention(api.platform, server.id, 1));
    expect(await messages.countDocuments({ _id: old })).to.equal(1);
    expect(await files.countDocuments({ messageId: old, openAt: { $exists: true } })).to.equal(1);
    await restartRetention(api.platform);
    await sweepRetention(api.worker);
    expect(await messages.countDocuments({ _id: old })).to.equal(0);
    await sweepFiles({ ...api.worker, now: () => Date.now() + 16 * 60_000 });
    expect(await files.countDocuments({ messageId: old })).to.equal(0);
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.storedBytes).to.equal(0);
  });
});
