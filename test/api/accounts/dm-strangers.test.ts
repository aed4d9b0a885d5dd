import { expect } from 'chai';
import { routes } from '../../../apps/api/routes/index.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { refused, send } from '../../harness/requests.ts';
import { fillPath, nameOf, sampleOf } from '../../harness/route-samples.ts';
import { make, newBot, newMember, newPerson, useServer } from '../../harness/use.ts';

describe('access to a DM of others', () => {
  const { api, owner, bot, member, outsider, otherBot } = useServer({
    bot: newBot(),
    member: newMember(),
    outsider: newPerson(),
    otherBot: newBot(),
  });
  const dm = make<DmChannel>(() => send(api, 201, bot, 'POST', '/api/users/@me/channels', { recipientId: member.id }));
  const message = make<Message>(() => send(api, 201, bot, 'POST', `/api/channels/${dm.id}/messages`, { content: 'x' }));
  /** Everyone but the two of the DM; the owner and the other bot share a server with both. */
  const others = [owner, outsider, otherBot];

  const channelRoutes = routes.filter(({ path }) => /^\/api\/channels\/\{\w+\}/.test(path));
  const targetOf = (path: string): string =>
    fillPath(path, (hole, before) => {
      if (before === 'channels') return dm.id;
      if (before === 'messages' || before === 'pins') return message.id;
      return hole === 'emoji' ? '%F0%9F%91%8D' : '1000000000000000001';
    });

  for (const route of channelRoutes)
    it(`404: ${nameOf(route)}`, async () => {
      const body = route.body?.schema ? sampleOf(route.body.schema) : undefined;
      for (const as of others)
        if (route.auth !== 'person' || as.as.startsWith('Bearer '))
          await refused(api, [404, 'not_found'], as, route.method, targetOf(route.path), body);
    });

  it('the tested routes include those of messages, pins, typing, threads and commands', () => {
    const paths = channelRoutes.map(nameOf);
    for (const last of ['messages', 'messages/{messageId}', 'pins', 'pins/{messageId}', 'typing', 'threads', 'commands'])
      expect(paths.some((path) => path.endsWith(`/${last}`))).to.equal(true);
  });

  it('is not in the DM lists of others, and their requests changed no message', async () => {
    for (const as of others) expect(await send(api, 200, as, 'GET', '/api/users/@me/channels')).to.deep.equal([]);
    expect(await send(api, 200, member, 'GET', `/api/channels/${dm.id}/messages`)).to.deep.equal([message]);
  });

  describe('404 for its two participants on routes that a DM does not have', () => {
    const serverOnly = channelRoutes.filter(({ path }) => /^\/api\/channels\/\{\w+\}$|overwrites/.test(path));
    for (const route of serverOnly)
      it(nameOf(route), async () => {
        const body = route.body?.schema ? sampleOf(route.body.schema) : undefined;
        for (const as of [bot, member]) await refused(api, [404, 'not_found'], as, route.method, targetOf(route.path), body);
      });
  });

  it('both participants may pin and unpin each other’s messages', async () => {
    const pins = `/api/channels/${dm.id}/pins`;
    const reply = await send<Message>(api, 201, member, 'POST', `/api/channels/${dm.id}/messages`, { content: 'y' });
    await send(api, 204, member, 'PUT', `${pins}/${message.id}`);
    await send(api, 204, bot, 'PUT', `${pins}/${reply.id}`);
    for (const as of [bot, member])
      expect((await send<Message[]>(api, 200, as, 'GET', pins)).map(({ id }) => id)).to.deep.equal([reply.id, message.id]);
    await send(api, 204, bot, 'DELETE', `${pins}/${message.id}`);
    await send(api, 204, member, 'DELETE', `${pins}/${reply.id}`);
    expect(await send(api, 200, bot, 'GET', pins)).to.deep.equal([]);
  });
});
