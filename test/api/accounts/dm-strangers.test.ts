import { expect } from 'chai';
import { routes } from '../../../apps/api/routes/index.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, makeBot, makeMember, makePerson, makeServer, refused, send } from '../../harness/factories.ts';
import { fillPath, nameOf, sampleOf } from '../../harness/route-samples.ts';

describe('a DM as others see it', () => {
  let api: TestApi;
  let bot: Caller;
  let member: Caller;
  let others: Caller[];
  let dm: DmChannel;
  let message: Message;
  before(async () => {
    api = await startTestApi();
    const owner = await makePerson(api);
    const server = await makeServer(api, owner);
    bot = await makeBot(api, owner, server.id);
    member = await makeMember(api, owner, server.id);
    // Who shares a server with both, also as its owner, is as far from it as a stranger.
    others = [owner, await makePerson(api), await makeBot(api, owner, server.id)];
    dm = await send(api, 201, bot, 'POST', '/api/users/@me/channels', { recipientId: member.id });
    message = await send(api, 201, bot, 'POST', `/api/channels/${dm.id}/messages`, { content: 'x' });
  });
  after(() => api.close());

  const ofChannels = routes.filter(({ path }) => /^\/api\/channels\/\{\w+\}/.test(path));
  const targetOf = (path: string): string =>
    fillPath(path, (hole, before) => {
      if (before === 'channels') return dm.id;
      if (before === 'messages' || before === 'pins') return message.id;
      return hole === 'emoji' ? '%F0%9F%91%8D' : '1000000000000000001';
    });

  for (const route of ofChannels)
    it(`404: ${nameOf(route)}`, async () => {
      const body = route.body ? sampleOf(route.body) : undefined;
      for (const as of others)
        if (route.auth !== 'person' || as.as.startsWith('Bearer '))
          await refused(api, [404, 'not_found'], as, route.method, targetOf(route.path), body);
    });

  it('those are the routes of channels and messages', () => {
    const paths = ofChannels.map(nameOf);
    for (const last of ['messages', 'messages/{messageId}', 'pins', 'pins/{messageId}', 'typing', 'threads', 'commands'])
      expect(paths.some((path) => path.endsWith(`/${last}`))).to.equal(true);
  });

  it('they do not find it in their lists, and nothing of it changed', async () => {
    for (const as of others) expect(await send(api, 200, as, 'GET', '/api/users/@me/channels')).to.deep.equal([]);
    expect(await send(api, 200, member, 'GET', `/api/channels/${dm.id}/messages`)).to.deep.equal([message]);
  });

  describe('no Channel: 404 for its two too', () => {
    const notOfDms = ofChannels.filter(({ path }) => /^\/api\/channels\/\{\w+\}$|overwrites/.test(path));
    for (const route of notOfDms)
      it(nameOf(route), async () => {
        const body = route.body ? sampleOf(route.body) : undefined;
        for (const as of [bot, member]) await refused(api, [404, 'not_found'], as, route.method, targetOf(route.path), body);
      });
  });

  it('either may pin and unpin, whoever wrote the message', async () => {
    const pins = `/api/channels/${dm.id}/pins`;
    const theirs = await send<Message>(api, 201, member, 'POST', `/api/channels/${dm.id}/messages`, { content: 'y' });
    await send(api, 204, member, 'PUT', `${pins}/${message.id}`);
    await send(api, 204, bot, 'PUT', `${pins}/${theirs.id}`);
    for (const as of [bot, member])
      expect((await send<Message[]>(api, 200, as, 'GET', pins)).map(({ id }) => id)).to.deep.equal([theirs.id, message.id]);
    await send(api, 204, bot, 'DELETE', `${pins}/${message.id}`);
    await send(api, 204, member, 'DELETE', `${pins}/${theirs.id}`);
    expect(await send(api, 200, bot, 'GET', pins)).to.deep.equal([]);
  });
});
