import { expect } from 'chai';
import sharp from 'sharp';
import type { Application } from '../../lib/contract/application.ts';
import type { AuditPage, Member } from '../../lib/contract/member.ts';
import type { Server, ServerSummary } from '../../lib/contract/server.ts';
import type { Me } from '../../lib/contract/user.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { fileDocs, getFile } from '../files/fixture.ts';
import { makeBot, makePerson, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { beforeNextQuery, interceptNext } from '../harness/intercept.ts';
import { recordEvents, startParlance } from '../harness/parlance.ts';
import { type Caller, inParallel, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { animation, brokenPng, gif, picture, png } from './fixtures.ts';
import { expectOnly, type PictureTarget, put } from './picture-fixture.ts';

describe('pictures: avatars and icons', () => {
  const parlance = use(startParlance);
  const owner = make(() => makePerson(parlance), { each: true });
  const server = make(() => makeServer(parlance, owner), { each: true });
  const bot = make(() => makeBot(parlance, owner, server.id), { each: true });
  afterEach(async () => {
    await parlance.platform.db.files.deleteMany({ state: 'freed' });
    for (const { path, as } of targets()) await parlance.call('DELETE', path, { as: as.as });
    await expectStored();
  });

  const targetNames = ['a person’s avatar', 'a bot’s avatar', 'a server’s icon', 'an application’s icon'];
  const uploadsDeleted = (): Promise<void> =>
    waitUntil(async () => (await fileDocs(parlance)).every(({ original }) => original === undefined), 'the uploads are deleted');
  /** Waits until the uploads are deleted, and expects that only the files of these URLs are stored. */
  const expectStored = async (...urls: (string | null | undefined)[]): Promise<void> => {
    await uploadsDeleted();
    await expectOnly(parlance, urls);
  };
  const avatarOf = (as: Caller) => async (): Promise<string | null> => (await send<Me>(parlance, 200, as, 'GET', '/api/auth/me')).avatarUrl;
  const application = (): Promise<Application> => send(parlance, 200, owner, 'GET', `/api/applications/${bot.applicationId}`);
  const targets = (): [person: PictureTarget, bot: PictureTarget, server: PictureTarget, application: PictureTarget] => [
    { path: '/api/users/@me/avatar', as: owner, currentUrl: avatarOf(owner) },
    { path: '/api/users/@me/avatar', as: bot, currentUrl: avatarOf(bot) },
    {
      path: `/api/servers/${server.id}/icon`,
      as: owner,
      currentUrl: async () => (await send<Server>(parlance, 200, owner, 'GET', `/api/servers/${server.id}`)).iconUrl,
    },
    { path: `/api/applications/${bot.applicationId}/icon`, as: owner, currentUrl: async () => (await application()).iconUrl },
  ];
  const put200 = async ({ path, as }: PictureTarget, image = png, type = 'image/png'): Promise<string> => {
    const { status, body } = await put(parlance.url, path, as.as, image, type);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(Object.keys(body)).to.deep.equal(['url']);
    return body.url;
  };

  for (const [at, what] of targetNames.entries())
    it(`${what} is visible at once, replaced together with its file, and deleted together with its file, also twice`, async () => {
      const target = targets()[at] as PictureTarget;
      const first = await put200(target);
      expect(await target.currentUrl()).to.equal(first);
      const second = await put200(target, await picture(20, 20).jpeg().toBuffer(), 'image/jpeg');
      expect(await target.currentUrl()).to.equal(second);
      expect(second).to.not.equal(first);
      await expectStored(second);
      expect((await getFile(parlance, { url: first })).status).to.equal(404);
      for (let i = 0; i < 2; i++) await send(parlance, 204, target.as, 'DELETE', target.path);
      expect(await target.currentUrl()).to.equal(null);
      await expectOnly(parlance, []);
    });

  it('stores a WebP of 256 pixels, cropped to the middle and rotated upright, without metadata', async () => {
    const wide = await picture(400, 100)
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD0: { Copyright: 'somebody' } })
      .jpeg()
      .toBuffer();
    const url = await put200(targets()[0], wide, 'image/jpeg');
    const served = await getFile(parlance, { url });
    expect([served.status, served.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
    expect(served.headers.get('content-disposition')).to.match(/^inline/);
    const { width, height, format, exif } = await sharp(served.body).metadata();
    expect([width, height, format, exif]).to.deep.equal([256, 256, 'webp', undefined]);
    // Red is on the left and blue on the right. After a quarter turn red is at the top, and the middle has half of each.
    const { data, info } = await sharp(served.body).raw().toBuffer({ resolveWithObject: true });
    const colour = (y: number) => (['red', '', 'blue'] as const)[(data[(y * 256 + 128) * info.channels] ?? 0) > 127 ? 0 : 2];
    expect([colour(20), colour(235)]).to.deep.equal(['red', 'blue']);
  });

  for (const [what, build, type] of [
    ['a large translucent PNG', () => picture(1_200, 900).ensureAlpha(0.5).png().toBuffer(), 'image/png'],
    ['a WebP', () => picture().webp().toBuffer(), 'image/webp'],
    ['a GIF', async () => gif, 'image/gif'],
    ['an animated GIF, of which it shows the first frame', async () => (await animation()).gif().toBuffer(), 'image/gif'],
    ['an animated WebP, of which it shows the first frame', async () => (await animation()).webp().toBuffer(), 'image/webp'],
    ['one pixel', () => picture(2, 1).extract({ left: 0, top: 0, width: 1, height: 1 }).png().toBuffer(), 'image/png'],
  ] as const)
    it(`200 for ${what}`, async () => {
      const { body } = await getFile(parlance, { url: await put200(targets()[0], await build(), type) });
      const { width, height, format, pages = 1 } = await sharp(body).metadata();
      expect([width, height, format, pages]).to.deep.equal([256, 256, 'webp', 1]);
    });

  it('400 for an image that cannot be decoded; keeps the current picture and no other file', async () => {
    const target = targets()[2];
    const url = await put200(target);
    for (const broken of [brokenPng, Buffer.concat([png.subarray(0, 33), Buffer.alloc(200, 7)])]) {
      const { status, body } = await put(parlance.url, target.path, target.as.as, broken);
      expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    }
    expect(await target.currentUrl()).to.equal(url);
    await expectStored(url);
  });

  it('shows a new avatar in member lists and a new icon in server lists; the audit log has every change of the icon', async () => {
    const [avatar, icon] = [await put200(targets()[0]), await put200(targets()[2])];
    const members = await send<Member[]>(parlance, 200, bot, 'GET', `/api/servers/${server.id}/members`);
    expect(members.find(({ user }) => user.id === owner.id)?.user.avatarUrl).to.equal(avatar);
    const [listed] = await send<Server[]>(parlance, 200, owner, 'GET', '/api/servers');
    expect(listed?.iconUrl).to.equal(icon);
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    const { items } = await send<AuditPage>(parlance, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
    expect(items.filter(({ action }) => action === 'server_update').map(({ targetId, changes }) => [targetId, changes])).to.deep.equal([
      [server.id, { iconUrl: { from: icon, to: null } }],
      [server.id, { iconUrl: { from: null, to: icon } }],
    ]);
  });

  it('an application’s icon becomes its bot’s avatar, also after the bot has changed its own avatar, which does not change the icon', async () => {
    const [, ofBot, , ofApplication] = targets();
    const icon = await put200(ofApplication);
    expect([await ofBot.currentUrl(), (await application()).bot.avatarUrl]).to.deep.equal([icon, icon]);
    const own = await put200(ofBot);
    expect([await ofBot.currentUrl(), await ofApplication.currentUrl()]).to.deep.equal([own, icon]);
    await expectStored(own, icon);
    const next = await put200(ofApplication);
    expect([await ofBot.currentUrl(), await ofApplication.currentUrl()]).to.deep.equal([next, next]);
    await send(parlance, 204, bot, 'DELETE', ofBot.path);
    expect([await ofBot.currentUrl(), await ofApplication.currentUrl()]).to.deep.equal([null, next]);
    await expectStored(next);
    expect((await getFile(parlance, { url: next })).status).to.equal(200);
  });

  it('10 parallel uploads of an application’s icon keep only the file that it and its bot show', async () => {
    const [, ofBot, , ofApplication] = targets();
    const urls = await inParallel(10, () => put200(ofApplication));
    const shown = await ofApplication.currentUrl();
    expect(urls).to.include(shown);
    expect(await ofBot.currentUrl()).to.equal(shown);
    await expectStored(shown);
  });

  it('application and bot show the newer icon when it replaces one that is not yet the bot’s avatar', async () => {
    const [, ofBot, , ofApplication] = targets();
    const { applications, accounts } = parlance.platform.db;
    let last = '';
    beforeNextQuery(applications, 'updateOne', async () => {
      beforeNextQuery(accounts, 'findOne', async () => {
        last = await put200(ofApplication);
      });
    });
    await put200(ofApplication);
    expect([await ofBot.currentUrl(), await ofApplication.currentUrl()]).to.deep.equal([last, last]);
    await expectStored(last);
  });

  it('keeps the application’s icon when the bot’s avatar of the same file is deleted just before it is replaced', async () => {
    const [, ofBot, , ofApplication] = targets();
    const icon = await put200(ofApplication);
    beforeNextQuery(parlance.platform.db.files, 'findOneAndUpdate', () => send(parlance, 204, bot, 'DELETE', ofBot.path));
    const own = await put200(ofBot);
    expect([await ofBot.currentUrl(), await ofApplication.currentUrl()]).to.deep.equal([own, icon]);
    await expectStored(own, icon); // no file waits for a decision
  });

  it('sends SERVER_UPDATE to the members for a new and for a deleted icon', async () => {
    const recorder = await recordEvents(parlance, owner.token);
    const url = await put200(targets()[2]);
    const receives = (iconUrl: string | null) =>
      recorder.waitFor(
        ({ t, d }) => t === 'SERVER_UPDATE' && (d as ServerSummary).id === server.id && (d as ServerSummary).iconUrl === iconUrl,
      );
    await receives(url);
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    await receives(null);
    await recorder.client.close();
  });

  it('parallel uploads and deletes keep only the files that are shown', async () => {
    const [person, , icon] = targets();
    for (const target of [person, icon]) {
      await inParallel(12, async (n) => (n % 3 ? put200(target) : parlance.call('DELETE', target.path, { as: target.as.as })));
      await expectStored(await person.currentUrl(), await icon.currentUrl());
    }
  });

  it('deletes the pictures of a deleted server and application, also one uploaded at the same moment', async () => {
    const [, , icon, ofApplication] = targets();
    await put200(icon);
    await put200(ofApplication);
    const late = Promise.all([icon, ofApplication].map(({ path, as }) => put(parlance.url, path, as.as, png)));
    await send(parlance, 204, owner, 'DELETE', `/api/servers/${server.id}`);
    await send(parlance, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    for (const { status } of await late) expect([200, 404]).to.include(status);
    await uploadsDeleted();
    for (const id of [server.id, bot.applicationId]) await finishRemoval(parlance.worker, id);
    await expectOnly(parlance, []);
  });

  it('404 without delay for an icon whose server is deleted during the upload; stores nothing', async () => {
    const other = await makeServer(parlance, owner);
    interceptNext(parlance.platform.db.files, 'insertMany', async (real) => {
      const inserted = await real();
      await send(parlance, 204, owner, 'DELETE', `/api/servers/${other.id}`);
      await finishRemoval(parlance.worker, other.id);
      return inserted;
    });
    const { status, body } = await put(parlance.url, `/api/servers/${other.id}/icon`, owner.as, png);
    expect([status, body.code]).to.deep.equal([404, 'not_found']); // and not 503 after 10 s
  });
});
