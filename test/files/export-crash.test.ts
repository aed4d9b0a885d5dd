import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { sweepExports } from '../../lib/domain/exports/work.ts';
import { startWorker } from '../../workers/start.ts';
import {
  downloadExport,
  exportBlobs,
  exportDoc,
  exportPath,
  makeDue,
  postFiles,
  readArchive,
  requestExport,
} from '../api/accounts/export-fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { makePerson, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

describe('export-account: a killed worker process', () => {
  const api = use(startTestApiWithWorker, { each: true });
  const start = useOwnProcess(() => api.worker.config);

  for (const [failpoint, stored, attempts] of [
    ['after-export-part-record', 0, 2],
    ['after-export-part', 1, 2],
    ['after-export-ready', 2, 1],
  ] as const satisfies readonly (readonly [Failpoint, number, number])[])
    it(`${failpoint}: another worker makes it, the person is told once, and no blob is left over`, async () => {
      const person = await makePerson(api);
      const server = await makeServer(api, person);
      const files = [0, 1].map((at) => ({ name: `${at}.bin`, bytes: randomBytes(9 * 1024 * 1024) }));
      const posted = await postFiles(api, person, server.general, 'two files', files);
      const child = await start('worker', failpoint);
      await expectKilled(child, () => requestExport(api, person));
      expect(await exportBlobs(api)).to.have.length(stored);
      expect((await exportDoc(api, person))?.parts.length).to.equal(1);

      await makeDue(api, person);
      const running = startWorker(api.worker, createMetrics('worker'));
      try {
        await waitUntil(async () => (await exportDoc(api, person))?.announced === true, 'another worker has made it');
      } finally {
        await running.close();
      }
      const doc = (await exportDoc(api, person)) ?? expect.fail();
      expect(doc).to.deep.include({ state: 'ready', attempts });
      const { body } = await downloadExport(api, person);
      const archive = readArchive(body);
      expect(posted.attachments.map(({ id, filename }) => archive.get(`files/${id}-${filename}`))).to.deep.equal(
        files.map(({ bytes }) => bytes),
      );
      expect(await exportBlobs(api)).to.deep.equal([`${doc.key}-${attempts}-1`, `${doc.key}-${attempts}-2`]);
      const [dm] = await api.platform.db.dms.find({ userIds: person.id }).toArray();
      expect(await api.platform.db.messages.countDocuments({ channelId: dm?._id ?? '' })).to.equal(1);

      await send(api, 204, person, 'DELETE', exportPath);
      expect(await exportBlobs(api)).to.deep.equal([]);
      await makeDue(api, person, { keepUntil: new Date() });
      await sweepExports(api.worker);
      expect(await exportDoc(api, person)).to.equal(null);
      await api.worker.blobs.removeOldTemp(-1_000);
    });
});
