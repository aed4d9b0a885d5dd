import { expect } from 'chai';
import { type News, type Presences, startPresences } from './presence-fixture.ts';

describe('gateway: presence', () => {
  let here: Presences;
  before(async () => {
    here = await startPresences('1');
  });
  after(() => here.close());
  beforeEach(() => here.begin());

  for (const kind of ['person', 'bot'] as const)
    it(`a ${kind} that comes and goes is told to people and bots of its servers, on every node, and to nobody else`, async () => {
      const { clients } = await here.listeners();
      const stranger = await here.enter(await here.world.someone('person', await here.another()));
      const one = await here.world.someone(kind, here.server);
      const own = await here.enter(one);
      for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
      expect(await here.heard(own)).to.deep.equal([[]]);
      await here.leave(own, one);
      for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', null]]);
      expect(await here.heard(stranger)).to.deep.equal([[]]);
    });

  it('bots hear it only when they asked for it', async () => {
    const deaf = await here.enter(await here.world.someone('bot', here.server), 0, []);
    const { clients } = await here.listeners();
    const one = await here.world.someone('person', here.server);
    await here.enter(one);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
    await here.world.post(here.server, await here.world.channel(here.server), 'end');
    expect((await deaf.events(1))[0]?.t).to.equal('MESSAGE_CREATE');
  });

  it('is heard once, however many servers and DMs are shared', async () => {
    const more = [await here.another(), await here.another()];
    const { bot, person, clients } = await here.listeners(...more);
    const one = await here.world.someone('person', here.server, ...more);
    await here.dm(one, bot, [bot.id]);
    await here.dm(one, person);
    const own = await here.enter(one);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
    await here.leave(own, one);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', null]]);
  });

  it('is heard by people and bots that share only a DM', async () => {
    const { bot, person, clients } = await here.listeners();
    const alone = await here.world.someone('person');
    await here.dm(alone, bot, [bot.id]);
    await here.dm(alone, person);
    await here.enter(alone);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[alone.id, 'online', null]]);
  });

  it('only the first session to come and the last to go are told; one cut off is offline until it resumes', async () => {
    const { clients } = await here.listeners();
    const one = await here.world.someone('bot', here.server);
    const first = await here.enter(one, 0);
    await here.heard(...clients);
    const second = here.world.connect(1);
    const { d, s } = await second.identify(one.token);
    first.ws.close(1000);
    await first.closed;
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
    await here.leave(second, one, null);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', null]]);
    const again = here.world.connect(0);
    await again.resume(one.token, d.sessionId, String(s));
    await again.until(0, 'RESUMED');
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
  });

  it('what comes and goes between two looks is not told', async () => {
    const { clients } = await here.listeners();
    const one = await here.world.someone('person', here.server);
    await here.leave(await here.enter(one), one);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
  });

  it('a changed status or custom status of who is connected is told; the same again is not; invisible is offline', async () => {
    const { clients } = await here.listeners();
    const one = await here.world.someone('bot', here.server);
    await here.enter(one);
    await here.heard(...clients);
    const steps: [body: object, told: News[]][] = [
      [{ status: 'idle' }, [[one.id, 'idle', null]]],
      [{ status: 'idle' }, []],
      [{ customStatus: 'busy' }, [[one.id, 'idle', 'busy']]],
      [{ status: 'dnd', customStatus: null }, [[one.id, 'dnd', null]]],
      [{ status: 'invisible' }, [[one.id, 'offline', null]]],
      [{ status: 'online' }, [[one.id, 'online', null]]],
    ];
    for (const [body, told] of steps) {
      await here.patch(one, 'Bot', body);
      for (const news of await here.heard(...clients)) expect(news, JSON.stringify(body)).to.deep.equal(told);
    }
  });

  it('who is invisible is told as who is offline: a new custom status, no status', async () => {
    const { clients } = await here.listeners();
    const [gone, hidden] = [await here.world.someone('bot', here.server), await here.world.someone('bot', here.server)];
    await here.patch(hidden, 'Bot', { status: 'invisible' });
    await here.enter(hidden);
    for (const one of [gone, hidden]) {
      for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
      for (const customStatus of ['away', 'back', null]) {
        await here.patch(one, 'Bot', { customStatus });
        for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', customStatus]]);
      }
      await here.patch(one, 'Bot', { status: 'invisible' });
      for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
    }
  });

  it('who left or was removed hears nothing more of that server, and is not told there', async () => {
    const away = await here.another();
    const { bot, person, clients } = await here.listeners(away);
    const [stays, goes] = [await here.world.someone('person', here.server), await here.world.someone('person', here.server, away)];
    for (const { id } of [bot, person]) {
      await here.world.leave(here.server, id);
      await here.world.tellGone(here.server, id);
    }
    await Promise.all([here.enter(stays), here.enter(goes)]);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[goes.id, 'online', null]]);
    await here.world.leave(away, goes.id);
    await here.patch(goes, 'Bearer', { status: 'dnd' });
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
  });
});
