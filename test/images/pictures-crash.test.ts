import { expect } from 'chai';
import type { Server } from '../../lib/contract/server.ts';
import { sweepFiles } from '../../lib/domain/files/files.ts';
import { fileDocs } from '../files/fixture.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { startParlance } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { useServer } from '../harness/use.ts';
import { png } from './fixtures.ts';
import { expectOnly, put } from './picture-fixture.ts';

describe('pictures: an API process killed during an upload', () => {
  const { api, owner, server } = useServer({}, { start: startParlance });
  const start = useOwnProcess(() => api.platform.config);
  const path = (): string => `/api/servers/${server.id}/icon`;
  const currentIcon = async (): Promise<string | null> => (await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).iconUrl;

  for (const [failpoint, replaced] of [
    ['after-file-write', false],
    ['after-blob-write', false],
    ['after-picture-open', false],
    ['after-picture-shown', true],
  ] as const)
    it(`${failpoint}: the server has the ${replaced ? 'new' : 'old'} icon, and the sweep keeps only that`, async () => {
      const old = (await put(api.url, path(), owner.as, png)).body.url;
      const child = await start('api', failpoint);
      await expectKilled(child, () => put(child.url, path(), owner.as, png).catch(() => null));
      const current = await currentIcon();
      expect(current !== old).to.equal(replaced);
      await sweepFiles(api.worker); // too recent: a request may still use these files
      expect(await fileDocs(api)).to.have.length(2);
      await waitUntil(async () => (await fileDocs(api)).every(({ original, openAt }) => !original || openAt), 'the uploads are deleted');
      await api.platform.db.files.updateMany({ openAt: { $exists: true } }, { $set: { openAt: new Date(0) } });
      await sweepFiles(api.worker);
      await api.worker.blobs.removeOldTemp(-1_000); // temporary files of the killed process, otherwise deleted after 15 minutes
      expect(await currentIcon()).to.equal(current);
      await expectOnly(api, [current]);
    });
});
