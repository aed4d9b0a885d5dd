import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { makeChannel, makeThread, postMessage } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { newBot, newMember, useServer } from '../../harness/use.ts';
import { messageCalls } from './message-fixture.ts';

describe('content modes', () => {
  const { api, owner, server, member, bot } = useServer({ member: newMember(), bot: newBot() });

  for (const kind of ['text', 'announcement'] as const)
    for (const contentMode of ['spoiler', 'age_restricted', 'default'] as const)
      it(`${contentMode} is shown in a ${kind} channel and restricts nothing in the API`, async () => {
        const channel = await makeChannel(api, owner, server.id, { kind });
        expect(channel.contentMode).to.equal('default');
        const path = `/api/channels/${channel.id}`;
        expect(await send<Channel>(api, 200, owner, 'PATCH', path, { contentMode })).to.include({ contentMode });
        for (const as of [member, bot]) {
          expect((await send<Channel>(api, 200, as, 'GET', path)).contentMode).to.equal(contentMode);
          const { channels } = await send<Server>(api, 200, as, 'GET', `/api/servers/${server.id}`);
          expect(channels.find(({ id }) => id === channel.id)?.contentMode).to.equal(contentMode);
          const messages = messageCalls(api, channel, as);
          const { id } = await messages.post('https://example.org');
          await send(api, 204, as, 'POST', `${path}/typing`);
          await send(api, 204, as, 'PUT', `${messages.path(id)}/reactions/${encodeURIComponent('👍')}`);
          expect(await messages.list()).to.have.length.greaterThan(0);
          await messages.edit(id, { content: 'changed' });
          const thread = await makeThread(api, as, channel.id, { messageId: id });
          expect(thread.contentMode, 'a thread has the mode of its channel').to.equal(null);
          await postMessage(api, as, thread.id);
          await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${thread.id}`, { contentMode });
        }
      });

  for (const kind of ['voice', 'category'] as const)
    it(`null in a ${kind} channel, and 400 to set it`, async () => {
      const { id, contentMode } = await makeChannel(api, owner, server.id, { kind });
      expect(contentMode).to.equal(null);
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${id}`, { contentMode: 'spoiler' });
    });

  it('400 for any other value', async () => {
    for (const contentMode of ['nsfw', '', null, 1, 'Spoiler'])
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${server.general}`, { contentMode });
  });
});
