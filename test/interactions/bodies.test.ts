import { expect } from 'chai';
import { expectError } from '../harness/expect-error.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';

describe('Interaction: refused requests change nothing', () => {
  const fixture = use(startInteractionFixture);

  /** Sends a body and expects that it is refused as invalid and changes nothing. */
  const expectInvalid = (route: 'callback' | 'followup', id: string, body: unknown): Promise<void> =>
    fixture.expectNoChange(async () => expectError(await fixture.send(route, id, body), 400, 'invalid_request'));

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
      it(`answers 400 invalid_request: ${about}`, async () => {
        const id = await fixture.use();
        await expectInvalid('callback', id, body);
        expect((await fixture.send('callback', id, { type: 'message', content: 'good' })).status).to.equal(201);
      });

    it('answers 400 instead of already_answered to a malformed body', async () => {
      const id = await fixture.use();
      expect((await fixture.send('callback', id, { type: 'defer' })).status).to.equal(204);
      for (const [, body] of bad) await expectInvalid('callback', id, body);
    });

    it('answers 415 to another content type', async () => {
      const id = await fixture.use();
      const answer = await fixture.send('callback', id, 'type=message', { 'Content-Type': 'application/x-www-form-urlencoded' });
      expectError(answer, 415, 'unsupported_media_type');
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
      it(`answers 400 invalid_request: ${about}`, async () => {
        const id = await fixture.use();
        await fixture.send('callback', id, { type: 'defer' });
        await expectInvalid('followup', id, body);
        const { body: first } = await fixture.send('followup', id, { content: 'good' });
        expect((await fixture.stored(id)).messageId).to.equal(first.id);
      });
  });

  describe('the token in the path', () => {
    it('answers the same 404 to every wrong pair of id and token, and changes nothing', async () => {
      const [id, other] = [await fixture.use(), await fixture.use()];
      const unknown = fixture.seeded.serverId;
      const pairs = [
        [id, 'x'],
        [id, fixture.tokenOf(other)],
        [unknown, fixture.tokenOf(id)],
        [unknown, fixture.tokenOf(unknown)],
        ['x', fixture.tokenOf('x')],
        [id, `${fixture.tokenOf(id)}a`],
      ];
      const body = { type: 'message', content: 'x' };
      const bodies = new Set<string>();
      for (const pair of pairs)
        for (const route of ['callback', 'followup']) {
          const answer = await fixture.api.call('POST', `/api/interactions/${pair.join('/')}/${route}`, { body });
          expectError(answer, 404, 'not_found');
          bodies.add(JSON.stringify({ ...answer.body, requestId: '' }));
        }
      expect(bodies.size).to.equal(1);
      expect((await fixture.stored(id)).state).to.equal('created');
    });

    it('is accepted with any Authorization header', async () => {
      for (const as of ['Bot nonsense', fixture.asPerson, 'x']) {
        const id = await fixture.use();
        const answer = await fixture.send('callback', id, { type: 'message', content: 'x' }, { Authorization: as });
        expect(answer.status).to.equal(201);
      }
    });
  });
});
