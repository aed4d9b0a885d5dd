import { expect } from 'chai';
import type { AccountDeletion, OwnDeletion } from '../../../lib/contract/account-deletion.ts';
import type { LoginCode, Session } from '../../../lib/contract/auth.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson, makeServer, password } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

const path = '/api/users/@me/deletion';
const dayMs = 24 * 3_600_000;

describe('the deletion of one’s account', () => {
  const api = use(() => startTestApi());
  const person = make(() => makePerson(api), { each: true });

  const request = (messages = 'keep', as: Caller = person): Promise<AccountDeletion> =>
    send(api, 200, as, 'POST', path, { password, messages });
  const show = (): Promise<OwnDeletion> => send(api, 200, person, 'GET', path);
  const none = { deletion: null, graceDays: 14 };
  const logIn = async (): Promise<Caller> => {
    const { token } = await send<Session>(api, 200, null, 'POST', '/api/auth/login', { username: person.username, password });
    return { ...person, token, as: `Bearer ${token}` };
  };
  const isAlive = async ({ as }: Caller): Promise<boolean> => (await api.call('GET', '/api/auth/me', { as })).status === 200;

  it('POST schedules it after the grace period, and ends all other sessions and login codes; the account works until then', async () => {
    const other = await logIn();
    const { code } = await send<LoginCode>(api, 201, person, 'POST', '/api/auth/codes');
    const began = Date.now();
    const { deletesAt, messages } = await request('delete');
    expect(messages).to.equal('delete');
    expect(Date.parse(deletesAt)).to.be.within(began + 14 * dayMs, Date.now() + 14 * dayMs);
    expect(await show()).to.deep.equal({ deletion: { deletesAt, messages }, graceDays: 14 });
    expect([await isAlive(person), await isAlive(other)]).to.deep.equal([true, false]);
    await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/code', { code });
    await makeServer(api, await logIn());
  });

  it('a repeated POST replaces the choice but not the date', async () => {
    const { deletesAt } = await request('delete');
    expect(await request('keep')).to.deep.equal({ deletesAt, messages: 'keep' });
    const dates = (await inParallel(5, () => request('delete'))).map((one) => one.deletesAt);
    expect(new Set([...dates, deletesAt]).size).to.equal(1);
  });

  it('DELETE cancels it, and is harmless if none is scheduled', async () => {
    expect(await show()).to.deep.equal(none);
    await send(api, 204, person, 'DELETE', path);
    await request();
    await send(api, 204, person, 'DELETE', path);
    expect(await show()).to.deep.equal(none);
  });

  it('400 for a wrong password, also one that was right until this moment, and nothing is scheduled', async () => {
    const wrong = { password: 'not the password', messages: 'keep' };
    const { errors } = await refused(api, [400, 'invalid_request'], person, 'POST', path, wrong);
    expect(errors?.map((one) => one.path)).to.deep.equal(['/password']);
    for (const body of [{ password }, { password, messages: 'some' }, { messages: 'keep' }])
      await refused(api, [400, 'invalid_request'], person, 'POST', path, body);
    const { accounts } = api.platform.db;
    beforeNextQuery(accounts, 'findOneAndUpdate', () => accounts.updateOne({ _id: person.id }, { $set: { passwordHash: 'another' } }));
    await refused(api, [400, 'invalid_request'], person, 'POST', path, { password, messages: 'keep' });
    expect(await show()).to.deep.equal(none);
  });

  it('400 while the person owns servers, with their names', async () => {
    const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
    for (const name of names) await makeServer(api, person, name);
    const { message } = await refused(api, [400, 'owns_servers'], person, 'POST', path, { password, messages: 'keep' });
    expect(message).to.contain('“one”, “two”, “three”, “four”, “five” and 2 more');
    expect(await show()).to.deep.equal(none);
  });
});
