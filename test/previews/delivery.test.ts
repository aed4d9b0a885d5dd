import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { postMessage } from '../harness/factories.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../harness/seed.ts';
import { page, sendPage, startSite } from '../harness/site.ts';
import { make, use } from '../harness/use.ts';

describe('link previews with all roles', () => {
  const site = use(() => startSite((request, response) => sendPage(response, page(String(request.url)))));
  const parlance = use(() => startParlance({ OUTBOUND_ALLOW: site.pair }));
  const seeded = make(() => seedServer(parlance.platform, { bots: 1, channels: 1 }));
  const owner = make(async () => ownerOf(seeded));
  const bot = make(async () => botOf(seeded));
  const botEvents = useRecorder(parlance, bot, ['MESSAGE_UPDATE', 'INTERACTION_CREATE']);
  const ownerEvents = useRecorder(parlance, owner);

  const channelPath = (): string => `/api/channels/${seeded.channelIds[0]}`;
  const post = (as: typeof owner, path: string): Promise<Message> =>
    postMessage(parlance, as, String(seeded.channelIds[0]), site.url + path);
  const updateOf = (id: string) => (event: Dispatch) => event.t === 'MESSAGE_UPDATE' && event.d.id === id;
  const embedsOf = (title: string): object[] => [{ url: `${site.url}${title}`, title }];
  const expectUpdate = async (id: string, title: string): Promise<void> => {
    for (const { d } of await waitForAll([botEvents, ownerEvents], updateOf(id)))
      expect(d).to.deep.include({ embeds: embedsOf(title), editedAt: null, serverId: seeded.serverId });
  };
  const command = make(async () => {
    const path = `/api/applications/${bot.applicationId}/commands`;
    const [saved] = await send<{ id: string }[]>(parlance, 200, bot, 'PUT', path, [{ name: 'hello', description: 'Says hello.' }]);
    return saved as { id: string };
  });
  /** Uses the command; returns the path of the interaction with its token. */
  const invoke = async (): Promise<string> => {
    const { id } = await send<{ id: string }>(parlance, 202, owner, 'POST', `${channelPath()}/commands/${command.id}/invoke`, {});
    const { d } = await botEvents.waitFor((event) => event.t === 'INTERACTION_CREATE' && event.d.id === id);
    return `/api/interactions/${id}/${String(d.token)}`;
  };

  for (const kind of ['person', 'bot'] as const)
    it(`sends one MESSAGE_UPDATE with the preview and editedAt null for the message of a ${kind}`, async () => {
      const { id, embeds } = await post(kind === 'bot' ? bot : owner, `/${kind}`);
      expect(embeds).to.deep.equal([]);
      await expectUpdate(id, `/${kind}`);
    });

  it('adds previews to the response to a command, to a follow-up and to an edited response', async () => {
    const route = await invoke();
    const content = (path: string): object => ({ type: 'message', content: site.url + path });
    const answer = await send<Message>(parlance, 201, null, 'POST', `${route}/callback`, content('/answer'));
    await expectUpdate(answer.id, '/answer');
    const followup = await send<Message>(parlance, 201, null, 'POST', `${route}/followup`, content('/followup'));
    await expectUpdate(followup.id, '/followup');
    await send(parlance, 200, null, 'PATCH', `${route}/original`, content('/edited'));
    const edited = await ownerEvents.waitFor(
      (event) => updateOf(answer.id)(event) && JSON.stringify(event.d.embeds) === JSON.stringify(embedsOf('/edited')),
    );
    expect(edited.d.editedAt).to.be.a('string');
  });

  it('requests no links of an ephemeral response and adds no preview', async () => {
    const before = site.asked.length;
    const body = { type: 'message', content: `${site.url}/hidden`, ephemeral: true };
    await send(parlance, 201, null, 'POST', `${await invoke()}/callback`, body);
    const { id } = await post(owner, '/marker');
    await expectUpdate(id, '/marker');
    expect(site.asked.slice(before)).to.deep.equal(['/marker']);
  });
});
