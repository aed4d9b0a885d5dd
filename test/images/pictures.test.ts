import { expect } from 'chai';
import sharp from 'sharp';
import type { Application } from '../../lib/contract/application.ts';
import type { AuditPage, Member, Server, ServerSummary } from '../../lib/contract/server.ts';
import type { Me } from '../../lib/contract/user.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { fileDocs, getFile } from '../files/fixture.ts';
import { around } from '../harness/around.ts';
import { type Bot, type Caller, makeBot, makePerson, makeServer, type Place as ServerPlace, send } from '../harness/factories.ts';
import { meet } from '../harness/meet.ts';
import { until } from '../harness/scene.ts';
import { listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { picture } from './fixtures.ts';
import { expectOnly, type Place, put } from './picture-fixture.ts';

describe('pictures: avatars and icons', function () {
  this.timeout(180_000);
  let whole: Whole;
  let png: Buffer;
  let owner: Caller;
  let server: ServerPlace;
  let bot: Bot;
  before(async () => {
    whole = await startWhole();
    png = await picture().png().toBuffer();
  });
  after(() => whole.close());
  beforeEach(async () => {
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    bot = await makeBot(whole, owner, server.id);
  });
  afterEach(async () => {
    await whole.platform.db.files.deleteMany({ state: 'freed' });
    for (const { path, as } of places()) await whole.call('DELETE', path, { as: as.as });
    await settled();
    await expectOnly(whole, []);
  });

  const settled = (): Promise<void> =>
    until(async () => (await fileDocs(whole)).every(({ original }) => original === undefined), 'the uploads to be deleted');
  const avatarOf = (as: Caller) => async (): Promise<string | null> => (await send<Me>(whole, 200, as, 'GET', '/api/auth/me')).avatarUrl;
  const application = (): Promise<Application> => send(whole, 200, owner, 'GET', `/api/applications/${bot.applicationId}`);
  const places = (): Place[] => [
    { path: '/api/users/@me/avatar', as: owner, now: avatarOf(owner) },
    { path: '/api/users/@me/avatar', as: bot, now: avatarOf(bot) },
    {
      path: `/api/servers/${server.id}/icon`,
      as: owner,
      now: async () => (await send<Server>(whole, 200, owner, 'GET', `/api/servers/${server.id}`)).iconUrl,
    },
    { path: `/api/applications/${bot.applicationId}/icon`, as: owner, now: async () => (await application()).iconUrl },
  ];
  const put200 = async ({ path, as }: Place, image = png, type = 'image/png'): Promise<string> => {
    const { status, body } = await put(whole.url, path, as.as, image, type);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(Object.keys(body)).to.deep.equal(['url']);
    return body.url;
  };

  for (const [at, what] of ['a person’s avatar', 'a bot’s avatar', 'a server’s icon', 'an application’s icon'].entries())
    it(`${what}: is shown at once, replaced with its file, and taken away with its file, also twice`, async () => {
      const place = places()[at] as Place;
      const first = await put200(place);
      expect(await place.now()).to.equal(first);
      const second = await put200(place, await picture(20, 20).jpeg().toBuffer(), 'image/jpeg');
      expect(await place.now()).to.equal(second);
      expect(second).to.not.equal(first);
      await settled();
      await expectOnly(whole, [second]);
      expect((await getFile(whole, { url: first })).status).to.equal(404);
      for (let i = 0; i < 2; i++) await send(whole, 204, place.as, 'DELETE', place.path);
      expect(await place.now()).to.equal(null);
      await expectOnly(whole, []);
    });

  it('the file is a WebP of 256 pixels that shows the middle, turned upright, without metadata', async () => {
    const wide = await picture(400, 100)
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD0: { Copyright: 'somebody' } })
      .jpeg()
      .toBuffer();
    const url = await put200(places()[0] as Place, wide, 'image/jpeg');
    const served = await getFile(whole, { url });
    expect([served.status, served.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
    expect(served.headers.get('content-disposition')).to.match(/^inline/);
    const { width, height, format, exif } = await sharp(served.body).metadata();
    expect([width, height, format, exif]).to.deep.equal([256, 256, 'webp', undefined]);
    // Red was left and blue right; turned by a quarter, red is above, and the middle has half of each.
    const { data, info } = await sharp(served.body).raw().toBuffer({ resolveWithObject: true });
    const colour = (y: number) => (['red', '', 'blue'] as const)[(data[(y * 256 + 128) * info.channels] ?? 0) > 127 ? 0 : 2];
    expect([colour(20), colour(235)]).to.deep.equal(['red', 'blue']);
  });

  const frames = async (format: 'gif' | 'webp'): Promise<Buffer> => {
    const [red, blue] = await Promise.all(
      ['red', 'blue'].map((background) =>
        sharp({ create: { width: 64, height: 48, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    return sharp([red as Buffer, blue as Buffer], { join: { animated: true } })
      [format]()
      .toBuffer();
  };
  for (const [what, make, type] of [
    ['a large PNG that is seen through', () => picture(1_200, 900).ensureAlpha(0.5).png().toBuffer(), 'image/png'],
    ['a WebP', () => picture().webp().toBuffer(), 'image/webp'],
    ['a GIF', () => picture().gif().toBuffer(), 'image/gif'],
    ['a GIF that moves: its first picture', () => frames('gif'), 'image/gif'],
    ['a WebP that moves: its first picture', () => frames('webp'), 'image/webp'],
    ['one pixel', () => picture(2, 1).extract({ left: 0, top: 0, width: 1, height: 1 }).png().toBuffer(), 'image/png'],
  ] as const)
    it(`200 for ${what}`, async () => {
      const { body } = await getFile(whole, { url: await put200(places()[0] as Place, await make(), type) });
      const { width, height, format, pages = 1 } = await sharp(body).metadata();
      expect([width, height, format, pages]).to.deep.equal([256, 256, 'webp', 1]);
    });

  it('400 for what cannot be decoded; what is shown stays, and nothing is left', async () => {
    const place = places()[2] as Place;
    const url = await put200(place);
    for (const broken of [png.subarray(0, 60), Buffer.concat([png.subarray(0, 33), Buffer.alloc(200, 7)])]) {
      const { status, body } = await put(whole.url, place.path, place.as.as, broken);
      expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    }
    expect(await place.now()).to.equal(url);
    await settled();
    await expectOnly(whole, [url]);
  });

  it('an avatar is shown everywhere at once, and an icon in lists and invites; each change of an icon is in the audit log', async () => {
    const [avatar, icon] = [await put200(places()[0] as Place), await put200(places()[2] as Place)];
    const members = await send<Member[]>(whole, 200, bot, 'GET', `/api/servers/${server.id}/members`);
    expect(members.find(({ user }) => user.id === owner.id)?.user.avatarUrl).to.equal(avatar);
    const [listed] = await send<Server[]>(whole, 200, owner, 'GET', '/api/servers');
    expect(listed?.iconUrl).to.equal(icon);
    await send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    await send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    const { items } = await send<AuditPage>(whole, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
    expect(items.filter(({ action }) => action === 'server_update').map(({ targetId, changes }) => [targetId, changes])).to.deep.equal([
      [server.id, { iconUrl: { from: icon, to: null } }],
      [server.id, { iconUrl: { from: null, to: icon } }],
    ]);
  });

  it('an application’s icon is its bot’s avatar; a bot that takes another leaves the icon, and the next icon is the bot’s again', async () => {
    const [, ofBot, , ofApplication] = places() as [Place, Place, Place, Place];
    const icon = await put200(ofApplication);
    expect([await ofBot.now(), (await application()).bot.avatarUrl]).to.deep.equal([icon, icon]);
    const own = await put200(ofBot);
    expect([await ofBot.now(), await ofApplication.now()]).to.deep.equal([own, icon]);
    await settled();
    await expectOnly(whole, [own, icon]);
    const next = await put200(ofApplication);
    expect([await ofBot.now(), await ofApplication.now()]).to.deep.equal([next, next]);
    await send(whole, 204, bot, 'DELETE', ofBot.path);
    expect([await ofBot.now(), await ofApplication.now()]).to.deep.equal([null, next]);
    await settled();
    await expectOnly(whole, [next]);
    expect((await getFile(whole, { url: next })).status).to.equal(200);
  });

  for (const at of [0, 2, 3])
    it(`10 at once leave one, and it is the one that is shown: place ${at}`, async () => {
      const place = places()[at] as Place;
      const urls = await Promise.all(Array.from({ length: 10 }, () => put200(place)));
      expect(urls).to.include(await place.now());
      await settled();
      await expectOnly(whole, [await place.now(), await (places()[1] as Place).now()]);
      if (at === 3) expect(await (places()[1] as Place).now()).to.equal(await place.now());
    });

  it('an icon that another replaces before it is the bot’s avatar: both show the last one', async () => {
    const [, ofBot, , ofApplication] = places() as [Place, Place, Place, Place];
    const { applications, accounts } = whole.platform.db;
    let last = '';
    meet(applications, 'updateOne', async () => {
      meet(accounts, 'findOne', async () => {
        last = await put200(ofApplication);
      });
    });
    await put200(ofApplication);
    expect([await ofBot.now(), await ofApplication.now()]).to.deep.equal([last, last]);
    await settled();
    await expectOnly(whole, [last]);
  });

  it('an avatar that is taken away just before another replaces it: the icon that it shared its file with stays for good', async () => {
    const [, ofBot, , ofApplication] = places() as [Place, Place, Place, Place];
    const icon = await put200(ofApplication);
    meet(whole.platform.db.files, 'findOneAndUpdate', () => send(whole, 204, bot, 'DELETE', ofBot.path));
    const own = await put200(ofBot);
    expect([await ofBot.now(), await ofApplication.now()]).to.deep.equal([own, icon]);
    await settled();
    await expectOnly(whole, [own, icon]); // no fate is open
  });

  it('SERVER_UPDATE tells the members of a new icon, and of none', async () => {
    const ear = await listenAs(whole, owner.token);
    const url = await put200(places()[2] as Place);
    const tells = (iconUrl: string | null) =>
      ear.hears(({ t, d }) => t === 'SERVER_UPDATE' && (d as ServerSummary).id === server.id && (d as ServerSummary).iconUrl === iconUrl);
    await tells(url);
    await send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}/icon`);
    await tells(null);
    await ear.client.close();
  });

  it('puts and deletes at once leave what is shown, and nothing else', async () => {
    const place = places()[0] as Place;
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => (i % 3 ? put200(place) : whole.call('DELETE', place.path, { as: place.as.as }))),
    );
    await settled();
    await expectOnly(whole, [await place.now()]);
  });

  it('a server, and an application, that is deleted takes its picture along, also one that arrives at that moment', async () => {
    const [, , icon, ofApplication] = places() as [Place, Place, Place, Place];
    await put200(icon);
    await put200(ofApplication);
    const late = Promise.all([icon, ofApplication].map(({ path, as }) => put(whole.url, path, as.as, png)));
    await send(whole, 204, owner, 'DELETE', `/api/servers/${server.id}`);
    await send(whole, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    for (const { status } of await late) expect([200, 404]).to.include(status);
    await settled();
    for (const id of [server.id, bot.applicationId]) await finishRemoval(whole.worker, id);
    await expectOnly(whole, []);
  });

  it('404 at once for a picture whose server is deleted, with its files, while it arrives; nothing of it is left', async () => {
    const place = await makeServer(whole, owner);
    around(whole.platform.db.files.collection, 'insertMany', async (real) => {
      const inserted = await real();
      await send(whole, 204, owner, 'DELETE', `/api/servers/${place.id}`);
      await finishRemoval(whole.worker, place.id);
      return inserted;
    });
    const { status, body } = await put(whole.url, `/api/servers/${place.id}/icon`, owner.as, png);
    expect([status, body.code]).to.deep.equal([404, 'not_found']); // and not 503 after 10 s
  });
});
