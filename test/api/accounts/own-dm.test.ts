import { expect } from 'chai';
import { routes } from '../../../apps/api/routes/index.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { openDm, postMessage } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { fillPath, sampleOf } from '../../harness/route-samples.ts';
import { make, newBot, newMember, useServer } from '../../harness/use.ts';

// The matrix calls every route of a channel with a DM of two others, who share no server with the callers.
describe('access to a DM', () => {
  const { api, owner, bot, member, otherBot } = useServer({ bot: newBot(), member: newMember(), otherBot: newBot() });
  const dm = make(() => openDm(api, bot, member));
  const message = make(() => postMessage(api, bot, dm.id));

  const channelRoutes = routes.filter(({ path }) => path.startsWith('/api/channels/{'));
  /** Expects 404 for a call of a route with the DM. */
  const expectNone = ({ method, path, body }: (typeof routes)[number], as: Caller): Promise<unknown> => {
    const filled = fillPath(path, (hole, before) => {
      if (before === 'channels') return dm.id;
      if (before === 'messages' || before === 'pins') return message.id;
      return hole === 'emoji' ? '%F0%9F%91%8D' : '1000000000000000001';
    });
    return refused(api, [404, 'not_found'], as, method, filled, body?.schema ? sampleOf(body.schema) : undefined);
  };

  it('404 on every route for others who share a server with both; it is not in their lists, and nothing changes', async () => {
    for (const route of channelRoutes) for (const as of route.auth === 'person' ? [owner] : [owner, otherBot]) await expectNone(route, as);
    for (const as of [owner, otherBot]) expect(await send(api, 200, as, 'GET', '/api/users/@me/channels')).to.deep.equal([]);
    expect(await send(api, 200, member, 'GET', `/api/channels/${dm.id}/messages`)).to.deep.equal([message]);
  });

  it('404 for both participants on routes that a DM does not have', async () => {
    const serverOnly = channelRoutes.filter(({ path }) => /^\/api\/channels\/\{\w+\}$|overwrites/.test(path));
    expect(serverOnly).to.not.deep.equal([]);
    for (const route of serverOnly) for (const as of [bot, member]) await expectNone(route, as);
  });

  it('both participants may pin and unpin each other’s messages', async () => {
    const pins = `/api/channels/${dm.id}/pins`;
    const reply = await postMessage(api, member, dm.id);
    await send(api, 204, member, 'PUT', `${pins}/${message.id}`);
    await send(api, 204, bot, 'PUT', `${pins}/${reply.id}`);
    for (const as of [bot, member])
      expect((await send<Message[]>(api, 200, as, 'GET', pins)).map(({ id }) => id)).to.deep.equal([reply.id, message.id]);
    await send(api, 204, bot, 'DELETE', `${pins}/${message.id}`);
    await send(api, 204, member, 'DELETE', `${pins}/${reply.id}`);
    expect(await send(api, 200, bot, 'GET', pins)).to.deep.equal([]);
  });
});
