import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import type { Session } from '../../../lib/contract/auth.ts';
import { createPasswordReset } from '../../../lib/domain/accounts/password-resets.ts';
import { hashOptions } from '../../../lib/domain/accounts/passwords.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson, password, word } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { startTwoFactor, turnTwoFactorOn } from '../../harness/two-factor.ts';
import { make, use } from '../../harness/use.ts';

const me = '/api/users/@me';
const newPassword = 'another good password';

describe('passwords and two-factor codes', () => {
  const api = use(startTestApi);
  const person = make(() => makePerson(api, word('easytoguess')), { each: true });
  const logIn = (given: string, username = person.username) =>
    api.call<Session>('POST', '/api/auth/login', { body: { username, password: given } });
  const setPassword = async (given: string): Promise<void> => {
    await send(api, 204, person, 'PUT', `${me}/password`, { currentPassword: password, newPassword: given });
  };

  /** Stores a password as an earlier version did, which did not normalize or refuse it. */
  const storeHash = async (given: string): Promise<unknown> =>
    api.platform.db.accounts.updateOne({ _id: person.id }, { $set: { passwordHash: await hash(given, hashOptions) } });

  const forms = { NFC: 'pässwörd für josé', NFD: 'pässwörd für josé'.normalize('NFD') };
  for (const [first, second] of [
    ['NFC', 'NFD'],
    ['NFD', 'NFC'],
  ] as const) {
    it(`a registration in ${first} and a login in ${second}`, async () => {
      const username = word('forms');
      await send(api, 201, null, 'POST', '/api/auth/register', { username, password: forms[first] });
      for (const form of [first, second]) expect((await logIn(forms[form], username)).status).to.equal(200);
      expect((await logIn('passwoerd fuer jose', username)).status).to.equal(401);
    });

    it(`a new password in ${first}, confirmed in ${second} by what asks for the password`, async () => {
      await setPassword(forms[first]);
      await send(api, 200, person, 'POST', `${me}/two-factor`, { password: forms[second] });
      await send(api, 204, person, 'PUT', `${me}/password`, { currentPassword: forms[second], newPassword });
    });

    it(`a password of a link in ${first} and a login in ${second}`, async () => {
      const { code } = await createPasswordReset(api.platform, person.id);
      await send(api, 204, null, 'POST', '/api/auth/password-reset', { code, newPassword: forms[first] });
      expect((await logIn(forms[second])).status).to.equal(200);
    });

    it(`a hash of an earlier version, which was made of ${first} as it was typed, and a login in ${second}`, async () => {
      await storeHash(forms[first]);
      for (const form of [first, second]) expect((await logIn(forms[form])).status).to.equal(200);
    });
  }

  /** Every request that has a password or a username, or a code in its place. */
  const places = (text: string): [as: Caller | null, method: string, path: string, body: object, field: string][] => [
    [null, 'POST', '/api/auth/register', { username: word('odd'), password: text }, '/password'],
    [null, 'POST', '/api/auth/register', { username: text, password }, '/username'],
    [null, 'POST', '/api/auth/login', { username: person.username, password: text }, '/password'],
    [null, 'POST', '/api/auth/login', { username: text, password }, '/username'],
    [null, 'POST', '/api/auth/password-reset', { code: 'x', newPassword: text }, '/newPassword'],
    [person, 'PUT', `${me}/password`, { currentPassword: text, newPassword }, '/currentPassword'],
    [person, 'PUT', `${me}/password`, { currentPassword: password, newPassword: text }, '/newPassword'],
    [person, 'POST', `${me}/two-factor`, { password: text }, '/password'],
    [person, 'POST', `${me}/two-factor/disable`, { password: text, code: '123456' }, '/password'],
    [person, 'POST', `${me}/two-factor/recovery-codes`, { password: text, code: '123456' }, '/password'],
    [person, 'POST', `${me}/export`, { password: text }, '/password'],
    [person, 'POST', `${me}/deletion`, { password: text, messages: 'keep' }, '/password'],
    [person, 'PUT', `${me}/sign-in`, { password: text }, '/password'],
    [person, 'DELETE', `${me}/sign-in`, { password: text }, '/password'],
    [null, 'POST', '/api/auth/oidc/link', { username: person.username, password: text }, '/password'],
  ];

  it('400 for halves of surrogate pairs in any field with a password or username', async () => {
    for (const text of ['passwort \ud83d', '\ude00 passwort', 'pass \ude00\ud83d wort'])
      for (const [as, method, path, body, field] of places(text)) {
        const { errors } = await refused(api, [400, 'invalid_request'], as, method, path, body);
        const paths = errors?.map((one) => one.path);
        expect(paths, `${method} ${path} ${JSON.stringify(text)}`).to.deep.equal([field]);
      }
  });

  it('pairs of surrogates are a character', async () => {
    await setPassword('🔑🗝️ passwort 🔑');
    expect((await logIn('🔑🗝️ passwort 🔑')).status).to.equal(200);
    expect((await logIn('🔑🗝️ passwort 🗝️')).status).to.equal(401);
  });

  const halves = '\ud83d'.repeat(6);
  const odd = ['１２３４５６', 'éééééé', '٠١٢٣٤٥', '😀😀😀', '12345６', '₁₂₃₄₅₆', '123\u0000456', halves, 'ⅣⅣⅣⅣⅣⅣ', 'ßßßßßß'];

  it('400 for other text as the code that confirms a setup', async () => {
    await startTwoFactor(api, person);
    for (const code of [...odd, '1', '12345', '1234567', 'abcdef', '------', ' ']) {
      const { errors } = await refused(api, [400, 'invalid_request'], person, 'PUT', `${me}/two-factor`, { code });
      const paths = errors?.map(({ path }) => path);
      expect(paths, code).to.deep.equal(['/code']);
    }
  });

  it('400 for other text as the code of logins and changes', async () => {
    await turnTwoFactorOn(api, person);
    for (const code of odd) {
      await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', { username: person.username, password, code });
      for (const path of ['disable', 'recovery-codes'])
        await refused(api, [400, 'invalid_request'], person, 'POST', `${me}/two-factor/${path}`, { password, code });
    }
  });

  const common = ['password', '12345678', 'PASSWORD', 'Password1', 'qwertyuiop', '1q2w3e4r', 'iloveyou', 'ｐａｓｓｗｏｒｄ', 'p@ssw0rd'];
  const reasons = async (as: Caller | null, method: string, path: string, body: object): Promise<string[]> =>
    (await refused(api, [400, 'invalid_request'], as, method, path, body)).errors?.map((one) => `${one.path}: ${one.message}`) ?? [];

  it('400 for a password that is easy to guess, of a registration, a new password and a link, with the reason', async () => {
    const { code } = await createPasswordReset(api.platform, person.id);
    for (const given of [...common, person.username, person.username.toUpperCase()]) {
      const all = [
        ...(await reasons(null, 'POST', '/api/auth/register', {
          username: given.toLowerCase() === person.username ? person.username : word('easy'),
          password: given,
        })),
        ...(await reasons(person, 'PUT', `${me}/password`, { currentPassword: password, newPassword: given })),
        ...(await reasons(null, 'POST', '/api/auth/password-reset', { code, newPassword: given })),
      ];
      const paths = all.map((one) => one.split(':')[0]);
      expect(paths, given).to.deep.equal(['/password', '/newPassword', '/newPassword']);
      for (const one of all) expect(one).to.match(/easy to guess/);
    }
    // The link was not used up.
    await send(api, 204, null, 'POST', '/api/auth/password-reset', { code, newPassword: `${person.username} and more` });
  });

  it('an account that has such a password from before still logs in', async () => {
    await storeHash('password');
    expect((await logIn('password')).status).to.equal(200);
  });
});
