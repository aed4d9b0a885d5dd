import { expect } from 'chai';
import type { Application } from '../../../lib/contract/application.ts';
import type { Answer } from '../../harness/api.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { refused, send } from '../../harness/requests.ts';
import { newApplication, useServer } from '../../harness/use.ts';

/** The states of an application as the values of `public` and `inDirectory`. */
const states = { private: [false, false], public: [true, false], listed: [true, true] } as const;
type State = keyof typeof states;

describe('PATCH /api/applications/{applicationId}: public and inDirectory', () => {
  const { api, owner, bot } = useServer({ bot: newApplication() });

  const path = (): string => `/api/applications/${bot.applicationId}`;
  const patch = (body: object): Promise<Answer<Application>> => api.call('PATCH', path(), { as: owner.as, body });
  const now = async (): Promise<State | null> => {
    const { public: open, inDirectory } = await send<Application>(api, 200, owner, 'GET', path());
    return (Object.keys(states) as State[]).find((one) => states[one][0] === open && states[one][1] === inDirectory) ?? null;
  };
  const begin = async (from: State): Promise<void> => {
    const [open, inDirectory] = states[from];
    await api.platform.db.applications.updateOne({ _id: bot.applicationId }, { $set: { public: open, inDirectory } });
  };

  // Listing a private application is refused, and an application that becomes private is unlisted (docs/behavior/accounts.md#application-fields).
  const rows: readonly [from: State, body: { public?: boolean; inDirectory?: boolean }, to: State | 'not_public'][] = [
    ['private', {}, 'private'],
    ['private', { public: true }, 'public'],
    ['private', { public: false }, 'private'],
    ['private', { inDirectory: true }, 'not_public'],
    ['private', { inDirectory: false }, 'private'],
    ['private', { public: true, inDirectory: true }, 'listed'],
    ['private', { public: true, inDirectory: false }, 'public'],
    ['private', { public: false, inDirectory: true }, 'not_public'],
    ['private', { public: false, inDirectory: false }, 'private'],
    ['public', {}, 'public'],
    ['public', { public: true }, 'public'],
    ['public', { public: false }, 'private'],
    ['public', { inDirectory: true }, 'listed'],
    ['public', { inDirectory: false }, 'public'],
    ['public', { public: true, inDirectory: true }, 'listed'],
    ['public', { public: false, inDirectory: true }, 'not_public'],
    ['public', { public: false, inDirectory: false }, 'private'],
    ['listed', {}, 'listed'],
    ['listed', { public: true }, 'listed'],
    ['listed', { public: false }, 'private'],
    ['listed', { inDirectory: true }, 'listed'],
    ['listed', { inDirectory: false }, 'public'],
    ['listed', { public: false, inDirectory: true }, 'not_public'],
    ['listed', { public: false, inDirectory: false }, 'private'],
  ];
  for (const [from, body, to] of rows)
    it(`${from} application, PATCH ${JSON.stringify(body)}: ${to === 'not_public' ? '400 not_public' : to}`, async () => {
      await begin(from);
      if (to === 'not_public') {
        await refused(api, [400, 'not_public'], owner, 'PATCH', path(), { ...body, name: 'never', description: 'never' });
        expect(await now()).to.equal(from);
        expect(await send(api, 200, owner, 'GET', path()))
          .to.not.include({ name: 'never' })
          .and.not.include({ description: 'never' });
        return;
      }
      const { status, body: shown } = await patch(body);
      expect([status, shown.public, shown.inDirectory]).to.deep.equal([200, ...states[to]]);
      expect(await now()).to.equal(to);
      expect((await patch(body)).status).to.equal(200);
      expect(await now()).to.equal(to);
    });

  it('a listed application that becomes private and public again is not listed', async () => {
    await begin('listed');
    await patch({ public: false });
    await patch({ public: true });
    expect(await now()).to.equal('public');
  });

  // The second request runs just before the first one writes, after its reads.
  const races: readonly [from: State, first: object, between: object, status: number, to: State][] = [
    ['public', { inDirectory: true }, { public: false }, 400, 'private'],
    ['listed', { inDirectory: true }, { public: false }, 400, 'private'],
    ['public', { public: false }, { inDirectory: true }, 200, 'private'],
    ['private', { public: true }, { public: true, inDirectory: true }, 200, 'listed'],
    ['public', { public: true, inDirectory: true }, { public: false }, 200, 'listed'],
    ['private', { inDirectory: false }, { public: true, inDirectory: true }, 200, 'public'],
  ];
  for (const [from, first, between, status, to] of races)
    it(`${from} application, PATCH ${JSON.stringify(between)} during PATCH ${JSON.stringify(first)}: ${status}, ${to}`, async () => {
      await begin(from);
      beforeNextQuery(api.platform.db.applications, 'findOneAndUpdate', async () => expect((await patch(between)).status).to.equal(200));
      const answer = await patch(first);
      expect(answer.status).to.equal(status);
      if (status === 400) expect(answer.body).to.have.property('code', 'not_public');
      expect(await now()).to.equal(to);
    });

  it('is never listed and private after concurrent changes', async () => {
    const bodies = [
      { public: true },
      { public: false },
      { inDirectory: true },
      { inDirectory: false },
      { public: true, inDirectory: true },
    ];
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all([...bodies, ...bodies].map(patch));
      for (const { status, body } of answers) {
        expect(status).to.be.oneOf([200, 400]);
        if (status === 200) expect(body.public || !body.inDirectory, JSON.stringify(body)).to.equal(true);
      }
      expect(await now()).to.not.equal(null);
    }
  });
});
