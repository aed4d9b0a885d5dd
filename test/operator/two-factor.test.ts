import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Result } from '../../apps/operator/result.ts';
import { createLog } from '../../lib/base/log.ts';
import type { Session } from '../../lib/contract/auth.ts';
import { rotateKey } from '../../lib/domain/key-rotation.ts';
import { openOperatorPlatform } from '../../lib/store/platform.ts';
import { deriveKeyId, seal } from '../../lib/store/seal.ts';
import { type Answer, startTestApi, type TestApi } from '../harness/api.ts';
import { makePerson, password } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { type Caller, refused } from '../harness/requests.ts';
import { codeAt, passTimeStep, turnTwoFactorOn } from '../harness/two-factor.ts';
import { make, use } from '../harness/use.ts';
import { emptyTarget, runDone, settingsOf } from './backup-fixture.ts';
import { runOn } from './run-here.ts';

describe('operators and two-factor authentication', () => {
  const oldKey = randomBytes(32).toString('base64');
  const api = use(() => startTestApi({ APP_KEY: oldKey }));
  const person = make(() => makePerson(api), { each: true });

  const logIn = (at: TestApi, { username }: Caller, code?: string): Promise<Answer<Session>> =>
    at.call('POST', '/api/auth/login', { body: { username, password, ...(code !== undefined && { code }) } });
  const run = (...args: string[]): Promise<Result> => runOn(api.platform, ...args);
  /** Starts another API on the same stores with these keys. */
  const startWith = (keys: Record<string, string>): Promise<TestApi> => {
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    return startTestApi({ MONGODB_URL, REDIS_PREFIX, ...keys });
  };

  it('account shows whether it is on; reset-two-factor turns it off, so that the password alone logs in', async () => {
    const shown = async () => (await run('account', person.id)).json.account as { twoFactor: boolean };
    expect((await shown()).twoFactor).to.equal(false);
    expect((await run('reset-two-factor', person.id)).json).to.include({ ok: true, changed: false });
    await turnTwoFactorOn(api, person);
    expect((await shown()).twoFactor).to.equal(true);
    expect(JSON.stringify(await run('account', person.id))).to.not.contain('recoveryCodes');
    await refused(api, [401, 'two_factor_required'], null, 'POST', '/api/auth/login', { username: person.username, password });
    const { json, text } = await run('reset-two-factor', person.id);
    expect(json).to.deep.equal({ ok: true, command: 'reset-two-factor', changed: true, id: person.id, name: person.username });
    expect(text).to.contain('The password alone logs in');
    expect((await logIn(api, person)).status).to.equal(200);
    const entries = await api.platform.db.operatorAudit.find({ command: 'reset-two-factor' }).toArray();
    expect(entries.map(({ outcome, targetId }) => [outcome, targetId])).to.deep.include(['done', person.id]);
  });

  it('a backup keeps it: after a restore it is needed, and the app and the recovery codes work', async () => {
    const folder = await makeFolder();
    const { secret, recoveryCodes } = await turnTwoFactorOn(api, person);
    await runDone(['backup', join(folder.path, 'backup.tar.gz')], api.platform.config);
    const target = emptyTarget(api.platform.config);
    await runDone(['restore', join(folder.path, 'backup.tar.gz')], target);
    await folder.close();
    const restored = await startTestApi({ ...settingsOf(target), APP_KEY: oldKey });
    try {
      passTimeStep(restored, 5);
      expect((await logIn(restored, person)).status).to.equal(401);
      expect((await logIn(restored, person, codeAt(secret, restored.platform.now()))).status).to.equal(200);
      expect((await logIn(restored, person, recoveryCodes[0])).status).to.equal(200);
    } finally {
      await restored.close();
    }
  });

  it('rotate-key re-encrypts the secret, and lists one that no key decrypts, which lets nobody in without a code', async () => {
    const lost = await makePerson(api);
    const { secret } = await turnTwoFactorOn(api, person);
    const lostApp = await turnTwoFactorOn(api, lost);
    const APP_KEY = randomBytes(32).toString('base64');
    const stranger = seal(randomBytes(32), lostApp.secret);
    await api.platform.db.accounts.updateOne({ _id: lost.id }, { $set: { 'twoFactor.secret': stranger } });
    const both = await startWith({ APP_KEY, APP_KEYS_OLD: oldKey });
    const operator = await openOperatorPlatform(both.platform.config, createLog('operator', 'silent'));
    const reports: string[] = [];
    const { encrypted, undecryptable } = await rotateKey(operator, ({ what }) => reports.push(what));
    expect(reports).to.include('two-factor secret of account');
    expect(encrypted).to.be.greaterThan(0);
    expect(undecryptable).to.deep.equal([{ what: 'two-factor secret of account', id: lost.id }]);
    const stored = await operator.db.accounts.findOne({ _id: person.id });
    expect(stored?.twoFactor?.secret.startsWith(`${deriveKeyId(Buffer.from(APP_KEY, 'base64'))}.`)).to.equal(true);
    await operator.close();
    await both.close();
    const after = await startWith({ APP_KEY });
    try {
      passTimeStep(after, 5);
      expect((await logIn(after, person, codeAt(secret, after.platform.now()))).status).to.equal(200);
      expect((await logIn(after, lost)).status).to.equal(401);
      expect((await logIn(after, lost, codeAt(lostApp.secret, after.platform.now()))).status).to.equal(401);
      expect((await logIn(after, lost, lostApp.recoveryCodes[0])).status).to.equal(200);
    } finally {
      await after.close();
    }
  });
});
