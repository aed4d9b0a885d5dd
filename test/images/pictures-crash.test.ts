import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import type { Server } from '../../lib/contract/server.ts';
import { sweepFiles } from '../../lib/domain/files/files.ts';
import { fileDocs } from '../files/fixture.ts';
import { type Caller, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { startWhole, type Whole } from '../harness/whole.ts';
import { picture } from './fixtures.ts';
import { expectOnly, put } from './picture-fixture.ts';

describe('a picture whose API process is killed on the way', function () {
  this.timeout(180_000); // a process starts in each
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  let png: Buffer;
  let child: OwnProcess;
  before(async () => {
    whole = await startWhole();
    png = await picture().png().toBuffer();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
  });
  after(() => whole.close());
  afterEach(() => {
    child.kill();
  });

  /** An API process of its own over the same stores, that dies at `failpoint`; answers its address. */
  const startChild = async (failpoint: Failpoint): Promise<string> => {
    child = await startOwn('api', whole.platform.config, { failpoint });
    return child.url;
  };
  const iconNow = async (): Promise<string | null> => (await send<Server>(whole, 200, owner, 'GET', `/api/servers/${server.id}`)).iconUrl;
  const path = (): string => `/api/servers/${server.id}/icon`;

  for (const [failpoint, replaced] of [
    ['after-file-write', false],
    ['after-blob-write', false],
    ['after-picture-open', false],
    ['after-picture-shown', true],
  ] as const)
    it(`${failpoint}: the ${replaced ? 'new' : 'old'} one is shown, and the sweep leaves that alone`, async () => {
      const old = (await put(whole.url, path(), owner.as, png)).body.url;
      const url = await startChild(failpoint);
      const died = child.ended;
      await put(url, path(), owner.as, png).catch(() => null);
      expect((await died)[1]).to.equal('SIGKILL');
      const now = await iconNow();
      expect(now !== old).to.equal(replaced);
      await sweepFiles(whole.worker); // too young: they may belong to a request that goes on
      expect(await fileDocs(whole)).to.have.length(2);
      await until(async () => (await fileDocs(whole)).every(({ original, openAt }) => !original || openAt), 'the uploads to be deleted');
      await whole.platform.db.files.collection.updateMany({ openAt: { $exists: true } }, { $set: { openAt: new Date(0) } });
      await sweepFiles(whole.worker);
      await whole.worker.blobs.sweepTemp(-1_000); // what the dead process was taking in, otherwise after 15 minutes
      expect(await iconNow()).to.equal(now);
      await expectOnly(whole, [now]);
    });
});
