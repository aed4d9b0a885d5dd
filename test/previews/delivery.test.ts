import { expect } from 'chai';
import type { Dispatch } from '../harness/bot-client.ts';
import { page, sendPage } from '../harness/previews.ts';
import { type Site, startSite } from '../harness/site.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

describe('link previews, through all roles', () => {
  let site: Site;
  let whole: Whole;
  let world: World;
  let bot: Ear;
  let person: Ear;
  let path: string;
  before(async () => {
    site = await startSite((request, response) => sendPage(response, page(String(request.url))));
    whole = await startWhole({ OUTBOUND_ALLOW: site.pair });
    world = await makeWorld(whole.platform, { bots: 1, channels: 1 });
    path = `/api/channels/${world.channelIds[0]}/messages`;
    [bot, person] = await Promise.all([
      listenAs(whole, `Bot ${world.bots[0]?.token}`, ['MESSAGE_UPDATE', 'INTERACTION_CREATE']),
      listenAs(whole, world.ownerToken),
    ]);
  });
  after(async () => {
    await Promise.all([bot, person].map((ear) => ear?.client.close()));
    await whole.close();
    await site.close();
  });
  const updateOf = (id: string) => (event: Dispatch) => event.t === 'MESSAGE_UPDATE' && event.d.id === id;
  const embedsOf = (title: string): object[] => [{ url: `${site.url}${title}`, title }];
  const everybodyHears = async (id: string, title: string): Promise<void> => {
    for (const ear of [bot, person])
      expect((await ear.hears(updateOf(id))).d).to.deep.include({ embeds: embedsOf(title), editedAt: null, serverId: world.serverId });
  };

  for (const who of ['person', 'bot'] as const)
    it(`a ${who}’s message: one MESSAGE_UPDATE with the preview, editedAt null`, async () => {
      const as = who === 'bot' ? `Bot ${world.bots[0]?.token}` : `Bearer ${world.ownerToken}`;
      const posted = await whole.call<{ id: string; embeds: unknown[] }>('POST', path, { as, body: { content: `${site.url}/${who}` } });
      expect([posted.status, posted.body.embeds]).to.deep.equal([201, []]);
      await everybodyHears(posted.body.id, `/${who}`);
    });

  it('an answer to a command, a follow-up, and a first answer that is edited', async () => {
    const saved = await whole.call<{ id: string }[]>('PUT', `/api/applications/${world.bots[0]?.applicationId}/commands`, {
      as: `Bot ${world.bots[0]?.token}`,
      body: [{ name: 'hello', description: 'Says hello.' }],
    });
    const invoke = `/api/channels/${world.channelIds[0]}/commands/${saved.body[0]?.id}/invoke`;
    const { body } = await whole.call<{ id: string }>('POST', invoke, { as: `Bearer ${world.ownerToken}`, body: {} });
    const { d } = await bot.hears((event) => event.t === 'INTERACTION_CREATE' && event.d.id === body.id);
    const route = `/api/interactions/${body.id}/${String(d.token)}`;
    const answer = await whole.call<{ id: string }>('POST', `${route}/callback`, {
      body: { type: 'message', content: `${site.url}/answer` },
    });
    await everybodyHears(answer.body.id, '/answer');
    const followup = await whole.call<{ id: string }>('POST', `${route}/followup`, { body: { content: `${site.url}/followup` } });
    await everybodyHears(followup.body.id, '/followup');
    await whole.call('PATCH', `${route}/original`, { body: { content: `${site.url}/edited` } });
    const again = await person.hears(
      (event) => updateOf(answer.body.id)(event) && JSON.stringify(event.d.embeds) === JSON.stringify(embedsOf('/edited')),
    );
    expect(again.d.editedAt).to.be.a('string');
  });

  it('an ephemeral answer gets none, and nobody is asked', async () => {
    const asks = site.asked.length;
    const { body: commands } = await whole.call<{ id: string }[]>('GET', `/api/channels/${world.channelIds[0]}/commands`, {
      as: `Bearer ${world.ownerToken}`,
    });
    const invoke = `/api/channels/${world.channelIds[0]}/commands/${commands[0]?.id}/invoke`;
    const { body } = await whole.call<{ id: string }>('POST', invoke, { as: `Bearer ${world.ownerToken}`, body: {} });
    const { d } = await bot.hears((event) => event.t === 'INTERACTION_CREATE' && event.d.id === body.id);
    const answer = await whole.call<{ id: string }>('POST', `/api/interactions/${body.id}/${String(d.token)}/callback`, {
      body: { type: 'message', content: `${site.url}/hidden`, ephemeral: true },
    });
    expect(answer.status).to.equal(201);
    const marker = await whole.call<{ id: string }>('POST', path, {
      as: `Bearer ${world.ownerToken}`,
      body: { content: `${site.url}/marker` },
    });
    await everybodyHears(marker.body.id, '/marker');
    expect(site.asked.slice(asks)).to.deep.equal(['/marker']);
  });
});
