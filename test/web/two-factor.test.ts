import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { codeAt, passTimeStep } from '../harness/two-factor.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

const codeLabel = 'Code from your authenticator app or a recovery code';
const wrongCode = 'This code is wrong or was already used.';

describe('web: two-factor authentication', () => {
  let site: Site;
  const open = usePages();
  before(async () => {
    site = await startSite();
  });
  after(() => site?.close());

  /** Turns it on in the settings; returns the secret of the app and the recovery codes that the page shows. */
  const turnOn = async (page: Page): Promise<{ secret: string; codes: string[] }> => {
    await page.goto('/settings/account');
    await page.getByRole('button', { name: 'Turn on two-factor authentication' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Your password').fill('a wrong password');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('This is not your current password.', { exact: true }).waitFor();
    await dialog.getByLabel('Your password').fill('a good password');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
    const secret = (await dialog.locator('code').innerText()).replaceAll(' ', '');
    expect(await dialog.getByRole('link', { name: 'open it in an app' }).getAttribute('href')).to.contain(`secret=${secret}`);
    await dialog.getByLabel('Code that the app shows').fill('abcdef');
    await dialog.getByRole('button', { name: 'Turn on' }).click();
    await dialog.getByText(wrongCode, { exact: true }).waitFor();
    await dialog.getByLabel('Code that the app shows').fill(codeAt(secret, site.platform.now()));
    await dialog.getByRole('button', { name: 'Turn on' }).click();
    const list = page.getByRole('list', { name: 'Recovery codes' });
    await list.waitFor();
    return { secret, codes: await list.getByRole('listitem').allInnerTexts() };
  };
  const logIn = async (page: Page, { username }: Person): Promise<void> => {
    await page.goto('/login');
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Enter a code' }).waitFor();
  };

  it('is turned on in the settings; a login then asks for a code of the app', async () => {
    const person = await signUp(site, 'Tove');
    const page = await open(site, person);
    const { secret, codes } = await turnOn(page);
    expect(codes).to.have.length(10);
    await page.getByText(/You have 10 recovery codes left/).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
    expect(download.suggestedFilename()).to.equal('parlance-recovery-codes.txt');
    expect((await readFile(await download.path(), 'utf8')).trim().split('\n')).to.deep.equal(codes);
    await page.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByRole('list', { name: 'Recovery codes' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText(/You have 10 recovery codes left/).waitFor();
    expect(await page.getByText(codes[0] as string).count()).to.equal(0);

    const other = await open(site);
    await logIn(other, person);
    passTimeStep(site);
    const code = codeAt(secret, site.platform.now());
    await other.getByLabel(codeLabel).fill('000000');
    await other.getByRole('button', { name: 'Log in' }).click();
    await other.getByRole('alert').getByText(wrongCode).waitFor();
    expect((await other.request.get('/api/auth/me')).status()).to.equal(401);
    await other.getByLabel(codeLabel).fill(code);
    await other.getByRole('button', { name: 'Log in' }).click();
    await other.getByRole('heading', { name: 'Hello, Tove' }).waitFor();
  });

  it('a recovery code logs in on a phone; new codes replace the old ones, and it can be turned off', async () => {
    const person = await signUp(site, 'Ragna');
    const page = await open(site, person, { width: 360, height: 740 });
    const { codes } = await turnOn(page);
    await page.context().clearCookies();
    await logIn(page, person);
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByLabel(codeLabel).fill(codes[0] as string);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Hello, Ragna' }).waitFor();
    await page.goto('/settings/account');
    await page.getByText(/You have 9 recovery codes left/).waitFor();
    const confirm = async (code: string, action: string): Promise<void> => {
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Your password').fill('a good password');
      await dialog.getByLabel(codeLabel).fill(code);
      await dialog.getByRole('button', { name: action }).click();
    };
    await page.getByRole('button', { name: 'New recovery codes' }).click();
    await confirm(codes[1] as string, 'Make new codes');
    const list = page.getByRole('list', { name: 'Recovery codes' });
    await list.waitFor();
    const fresh = await list.getByRole('listitem').allInnerTexts();
    await page.getByText(/You have 10 recovery codes left/).waitFor();
    await page.getByRole('button', { name: 'Turn off' }).click();
    await confirm(codes[2] as string, 'Turn off');
    await page.getByText(wrongCode, { exact: true }).waitFor();
    await confirm(fresh[0] as string, 'Turn off');
    await page.getByText('Two-factor authentication is off.').waitFor();
    await page.getByRole('button', { name: 'Turn on two-factor authentication' }).waitFor();
    const { status } = await site.call('POST', '/api/auth/login', { body: { username: person.username, password: 'a good password' } });
    expect(status).to.equal(200);
  });

  it('asks for a code before a new password, an archive of the data and the deletion of the account', async () => {
    const person = await signUp(site, 'Signe');
    const page = await open(site, person, { width: 360, height: 740 });
    const { codes } = await turnOn(page);
    /** Fills the password fields of a form, and submits it with a wrong code, then with one that works. */
    const confirm = async (form: Locator, action: string, passwords: Record<string, string>): Promise<void> => {
      for (const [label, text] of Object.entries(passwords)) await form.getByLabel(label, { exact: true }).fill(text);
      const code = form.getByLabel(codeLabel);
      expect(await code.getAttribute('required'), action).not.to.equal(null);
      await code.fill('000000');
      await form.getByRole('button', { name: action }).click();
      await form.getByText(wrongCode, { exact: true }).waitFor();
      expect(await code.getAttribute('aria-invalid'), action).to.equal('true');
      await code.fill(codes.shift() as string);
      await form.getByRole('button', { name: action }).click();
    };
    const stateOf = async (path: string): Promise<unknown> => (await site.call('GET', path, { as: person.as })).body;

    const next = 'another good password';
    await confirm(page.locator('form', { has: page.getByRole('heading', { name: 'Change password' }) }), 'Change password', {
      'Current password': 'a good password',
      'New password': next,
      'Confirm new password': next,
    });
    await page.getByText(/^Password changed/).waitFor();
    const logInWithoutCode = async (password: string) =>
      (await site.call<{ code: string }>('POST', '/api/auth/login', { body: { username: person.username, password } })).body.code;
    expect([await logInWithoutCode('a good password'), await logInWithoutCode(next)]).to.deep.equal([
      'unauthorized',
      'two_factor_required',
    ]);

    await page.reload();
    await page.getByText(/You have 9 recovery codes left/).waitFor();
    await page.getByRole('button', { name: 'Request data' }).click();
    await confirm(page.getByRole('dialog'), 'Request data', { Password: next });
    await page.getByText(/^Your archive is (being made|ready)/).waitFor();
    expect(await stateOf('/api/users/@me/export')).to.have.property('state');

    await page.getByRole('button', { name: 'Delete account' }).click();
    await confirm(page.getByRole('dialog'), 'Delete my account', { 'Your password': next });
    await page.getByText(/^Your account will be deleted on /).waitFor();
    expect(await stateOf('/api/users/@me/deletion'))
      .to.have.property('deletion')
      .that.is.an('object');
  });
});
