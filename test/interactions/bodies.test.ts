import { expect } from 'chai';
import { type Scene, startScene } from '../harness/scene.ts';

describe('Interaction: what is refused uses no answer up', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const told = ({ status, body }: { status: number; body: Record<string, unknown> | undefined }) => [status, body?.code];
  /** Runs `act` and expects that nothing of the interaction or the channel changed. */
  const unchanged = async (id: string, act: () => Promise<unknown>): Promise<void> => {
    const before = JSON.stringify([await scene.stored(id), await scene.messages()]);
    await act();
    expect(JSON.stringify([await scene.stored(id), await scene.messages()])).to.equal(before);
  };

  describe('bodies of a callback', () => {
    const bad: [about: string, body: unknown, status?: number][] = [
      ['no type', { content: 'x' }],
      ['type pong', { type: 'pong' }],
      ['nothing to show', { type: 'message' }],
      ['blank content', { type: 'message', content: ' \n' }],
      ['no embeds', { type: 'message', embeds: [] }],
      ['an empty embed', { type: 'message', embeds: [{}] }],
      ['2001 characters', { type: 'message', content: 'x'.repeat(2001) }],
      ['11 embeds', { type: 'message', embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }],
      ['content null', { type: 'message', content: null }],
      ['ephemeral as text', { type: 'message', content: 'x', ephemeral: 'true' }],
      ['broken JSON', '{"type":'],
      ['a list', []],
    ];
    for (const [about, body] of bad)
      it(`400 invalid_request: ${about}`, async () => {
        const id = await scene.use();
        await unchanged(id, async () => expect(told(await scene.send('callback', id, body))).to.deep.equal([400, 'invalid_request']));
        expect((await scene.send('callback', id, { type: 'message', content: 'good' })).status).to.equal(201);
      });

    it('is answered already_answered only once it is well formed', async () => {
      const id = await scene.use();
      expect((await scene.send('callback', id, { type: 'defer' })).status).to.equal(204);
      for (const [, body] of bad)
        await unchanged(id, async () => expect(told(await scene.send('callback', id, body))).to.deep.equal([400, 'invalid_request']));
    });

    it('415 for another content type', async () => {
      const id = await scene.use();
      const answer = await scene.send('callback', id, 'type=message', { 'Content-Type': 'application/x-www-form-urlencoded' });
      expect(told(answer)).to.deep.equal([415, 'unsupported_media_type']);
    });
  });

  describe('bodies of a follow-up', () => {
    const bad: [about: string, body: unknown][] = [
      ['nothing to show', {}],
      ['blank content', { content: ' ' }],
      ['2001 characters', { content: 'x'.repeat(2001) }],
      ['11 embeds', { embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }],
      ['ephemeral as text', { content: 'x', ephemeral: 'true' }],
    ];
    for (const [about, body] of bad)
      it(`400 invalid_request: ${about}`, async () => {
        const id = await scene.use();
        await scene.send('callback', id, { type: 'defer' });
        await unchanged(id, async () => expect(told(await scene.send('followup', id, body))).to.deep.equal([400, 'invalid_request']));
        const { body: first } = await scene.send('followup', id, { content: 'good' });
        expect((await scene.stored(id)).messageId).to.equal(first.id);
      });
  });

  describe('the path is the credential', () => {
    it('404 for every wrong pair, alike, and nothing is used up', async () => {
      const [id, other] = [await scene.use(), await scene.use()];
      const unknown = scene.world.serverId;
      const pairs = [
        [id, 'x'],
        [id, scene.tokenOf(other)],
        [unknown, scene.tokenOf(id)],
        [unknown, scene.tokenOf(unknown)],
        ['x', scene.tokenOf('x')],
        [id, `${scene.tokenOf(id)}a`],
      ];
      const body = { type: 'message', content: 'x' };
      const bodies = new Set<string>();
      for (const pair of pairs)
        for (const route of ['callback', 'followup']) {
          const answer = await scene.api.call('POST', `/api/interactions/${pair.join('/')}/${route}`, { body });
          expect(told(answer)).to.deep.equal([404, 'not_found']);
          bodies.add(JSON.stringify({ ...answer.body, requestId: '' }));
        }
      expect(bodies.size).to.equal(1);
      expect((await scene.stored(id)).state).to.equal('created');
    });

    it('any Authorization header is ignored', async () => {
      for (const as of ['Bot nonsense', scene.asPerson, 'x']) {
        const id = await scene.use();
        const answer = await scene.send('callback', id, { type: 'message', content: 'x' }, { Authorization: as });
        expect(answer.status).to.equal(201);
      }
    });
  });
});
