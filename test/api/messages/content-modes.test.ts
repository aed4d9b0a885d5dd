import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';
import type { Shown } from './message-fixture.ts';

describe('content modes: marks for clients', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let bot: Bot;
  let server: Place;

  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    member = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
  });
  after(() => api.close());

  for (const kind of ['text', 'announcement'] as const)
    for (const contentMode of ['spoiler', 'age_restricted', 'default'] as const)
      it(`${contentMode} stands in the ${kind} channel and the API refuses nothing because of it`, async () => {
        const { id, contentMode: fresh } = await makeChannel(api, owner, server.id, { kind });
        expect(fresh).to.equal('default');
        const path = `/api/channels/${id}`;
        expect(await send<Channel>(api, 200, owner, 'PATCH', path, { contentMode })).to.include({ contentMode });
        for (const as of [member, bot]) {
          expect((await send<Channel>(api, 200, as, 'GET', path)).contentMode).to.equal(contentMode);
          const { channels } = await send<Server>(api, 200, as, 'GET', `/api/servers/${server.id}`);
          expect(channels.find((one) => one.id === id)?.contentMode).to.equal(contentMode);
          const made = await send<Shown>(api, 201, as, 'POST', `${path}/messages`, { content: 'https://example.org' });
          await send(api, 204, as, 'POST', `${path}/typing`);
          await send(api, 204, as, 'PUT', `${path}/messages/${made.id}/reactions/${encodeURIComponent('👍')}`);
          expect(await send<Shown[]>(api, 200, as, 'GET', `${path}/messages`)).to.have.length.greaterThan(0);
          await send(api, 200, as, 'PATCH', `${path}/messages/${made.id}`, { content: 'changed' });
          const thread = await send<Channel>(api, 201, as, 'POST', `${path}/threads`, { name: 'thread', messageId: made.id });
          expect(thread.contentMode, 'a thread has its channel’s').to.equal(null);
          await send(api, 201, as, 'POST', `/api/channels/${thread.id}/messages`, { content: 'in the thread' });
          await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${thread.id}`, { contentMode });
        }
      });

  for (const kind of ['voice', 'category'] as const)
    it(`null in a ${kind} channel, and 400 to set`, async () => {
      const { id, contentMode } = await makeChannel(api, owner, server.id, { kind });
      expect(contentMode).to.equal(null);
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${id}`, { contentMode: 'spoiler' });
    });

  for (const contentMode of ['nsfw', '', null, 1, 'Spoiler'])
    it(`400 for ${JSON.stringify(contentMode)}`, () =>
      refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/channels/${server.general}`, { contentMode }));
});
