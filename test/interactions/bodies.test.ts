import { expect } from 'chai';
import { expectError } from '../harness/expect-error.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';

describe('Interaction: refused requests change nothing', () => {
  const fixture = use(startInteractionFixture);

  /** Expects that each body is refused as invalid and changes nothing. */
  const expectInvalid = async (route: 'callback' | 'followup', id: string, bodies: Record<string, unknown>): Promise<void> => {
    for (const [about, body] of Object.entries(bodies))
      await fixture.expectNoChange(async () => expectError(await fixture.send(route, id, body), 400, 'invalid_request', about));
  };
  const message = (body: object): object => ({ type: 'message', ...body });
  const badCallbacks: Record<string, unknown> = {
    'no type': { content: 'x' },
    'type pong': { type: 'pong' },
    'nothing to show': { type: 'message' },
    'blank content': message({ content: ' \n' }),
    'invisible content': message({ content: '\u200b\u2060' }),
    'no embeds': message({ embeds: [] }),
    'an empty embed': message({ embeds: [{}] }),
    'an invisible embed': message({ embeds: [{ title: '\u3164' }] }),
    '2001 characters': message({ content: 'x'.repeat(2001) }),
    '11 embeds': message({ embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }),
    'content null': message({ content: null }),
    'ephemeral as text': message({ content: 'x', ephemeral: 'true' }),
    'broken JSON': '{"type":',
    'a list': [],
  };

  it('400 invalid_request for malformed callbacks, after which the interaction can still be answered', async () => {
    const id = await fixture.use();
    await expectInvalid('callback', id, badCallbacks);
    expect((await fixture.send('callback', id, message({ content: 'good' }))).status).to.equal(201);
  });

  it('400 instead of already_answered for malformed callbacks', async () => {
    const id = await fixture.use();
    expect((await fixture.send('callback', id, { type: 'defer' })).status).to.equal(204);
    await expectInvalid('callback', id, badCallbacks);
  });

  it('415 for a callback of another content type', async () => {
    const answer = await fixture.send('callback', await fixture.use(), 'type=message', {
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    expectError(answer, 415, 'unsupported_media_type');
  });

  it('400 invalid_request for malformed follow-ups, after which the next one is the answer', async () => {
    const id = await fixture.use();
    await fixture.send('callback', id, { type: 'defer' });
    await expectInvalid('followup', id, {
      'nothing to show': {},
      'blank content': { content: ' ' },
      '2001 characters': { content: 'x'.repeat(2001) },
      '11 embeds': { embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) },
      'ephemeral as text': { content: 'x', ephemeral: 'true' },
    });
    const { body: first } = await fixture.send('followup', id, { content: 'good' });
    expect((await fixture.stored(id)).messageId).to.equal(first.id);
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
