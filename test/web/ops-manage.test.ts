import { createServer } from 'node:http';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { listen } from '../../lib/base/http-server.ts';
import { listOperatorAudit } from '../../lib/domain/operators/audit.ts';
import { makeApplication, makeMember, makePerson, makeServer } from '../harness/factories.ts';
import { make, use } from '../harness/use.ts';
import { startTestOps } from '../ops/test-ops.ts';
import { findOverflow, violations } from './axe.ts';
import { usePages } from './browser.ts';

const script = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';
const turned = '\u202egnp.exe';

describe('operators’ pages for people and servers in a browser', () => {
  const open = usePages();
  const api = use(() => startTestOps({ OPS_PASSWORD: '' }));
  const person = make(() => makePerson(api), { each: true });
  const server = make(() => makeServer(api, person, `${script} ${turned}`.slice(0, 100)), { each: true });
  const site = () => ({ origin: api.opsUrl });
  const isSuspended = async () => (await api.platform.db.accounts.findOne({ _id: person.id }))?.suspendedAt !== undefined;
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).waitFor();

  it('a person is found, suspended and unsuspended with the keyboard and mouse alone', async () => {
    const page = await open(site());
    await page.goto('/');
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByLabel(/^Beginning of the username/).fill(person.username);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: person.username, exact: true }).click();
    await page.getByRole('link', { name: 'Suspend…' }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Suspend…' }).click();
    await page.getByLabel('Reason').fill('spam');
    expect(await isSuspended()).to.equal(false);
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'POST'),
      page.getByRole('button', { name: 'Suspend' }).click(),
    ]);
    // Over plain http to another machine a browser sends no Sec-Fetch-Site, so that this header decides.
    expect((await sent.allHeaders()).origin).to.equal(api.opsUrl);
    await page.getByRole('status').filter({ hasText: 'suspended. All sessions have ended.' }).waitFor();
    expect(await isSuspended()).to.equal(true);
    await page.getByRole('link', { name: 'End suspension…' }).click();
    await page.getByRole('button', { name: 'End suspension' }).click();
    await page.getByRole('status').filter({ hasText: 'no longer suspended.' }).waitFor();
    expect(await isSuspended()).to.equal(false);
  });

  it('a form of another origin is refused, and changes nothing', async () => {
    const target = `${api.opsUrl}/people/${person.id}/suspend`;
    const attacker = createServer((_, response) =>
      response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(`<form method="post" action="${target}"><input name="reason" value="x"><button>Win a prize</button></form>`),
    );
    const { port, close } = await listen(attacker, 0, '127.0.0.1');
    try {
      const entries = await api.platform.db.operatorAudit.countDocuments({});
      const page = await open({ origin: `http://127.0.0.1:${port}` });
      await page.goto('/');
      await page.getByRole('button').click();
      await page.getByText('another site sent this request').waitFor();
      expect(page.url()).to.equal(target);
      expect(await isSuspended()).to.equal(false);
      expect(await api.platform.db.operatorAudit.countDocuments({})).to.equal(entries);
    } finally {
      await close();
    }
  });

  it('shows hostile names and reasons as text', async () => {
    await makeApplication(api, person, script.slice(0, 32));
    await api.platform.db.accounts.updateOne(
      { _id: person.id },
      { $set: { displayName: `${script}${turned}`, suspendedAt: new Date(), suspendedReason: script } },
    );
    const page = await open(site());
    for (const [path, text] of [
      [`/people?query=${person.username}`, script],
      [`/people?query=${encodeURIComponent(`"><script>window.ran=1</script>`)}`, 'None.'],
      [`/people/${person.id}`, script],
      [`/people/${person.id}/unsuspend`, script],
      [`/servers?query=${encodeURIComponent(script)}`, script],
      [`/servers/${server.id}`, script],
      [`/servers/${server.id}/delete`, script],
    ] as const) {
      await page.goto(path);
      await page.getByRole('main').getByText(text).first().waitFor();
      expect(await page.evaluate('window.ran'), path).to.equal(undefined);
      expect(await page.locator('main img, main script').count(), path).to.equal(0);
    }
    await page.getByLabel('Name of the server').fill(script);
    await page.getByRole('button', { name: 'Delete server' }).click();
    await page.getByRole('alert').filter({ hasText: 'not the name' }).waitFor();
    await page.goto('/audit');
    expect(await page.evaluate('window.ran')).to.equal(undefined);
  });

  it('a server is deleted after its name was typed', async () => {
    const page = await open(site());
    await page.goto(`/servers/${server.id}/delete`);
    await page.getByLabel('Name of the server').fill(server.name);
    await page.getByRole('button', { name: 'Delete server' }).click();
    await page.getByRole('status').filter({ hasText: 'deleted.' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/servers');
    expect((await listOperatorAudit(api.platform, { limit: 1 })).items[0]).to.include({ command: 'delete-server', outcome: 'done' });
  });

  it('has no axe-core violations in the light and the dark theme, and is not wider than the window', async () => {
    await makeMember(api, person, server.id);
    await api.platform.db.accounts.updateOne(
      { _id: person.id },
      { $set: { displayName: 'W'.repeat(32), suspendedReason: 'w'.repeat(512) } },
    );
    const page = await open(site(), undefined, { bypassCSP: true });
    const examine = async (name: string): Promise<void> => {
      await page.waitForLoadState(); // a form has led to a page whose styles may not be there yet
      for (const width of [360, 768, 1440]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await findOverflow(page), `${name} at ${width}`).to.deep.equal([]);
        if (width !== 768) expect(await violations(page), `${name} at ${width}`).to.deep.equal([]);
      }
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await violations(page, ['color-contrast']), `${name} in the dark theme`).to.deep.equal([]);
      await page.emulateMedia({ colorScheme: 'light' });
    };
    for (const [path, title] of [
      ['/people', 'People'],
      [`/people/${person.id}`, person.username],
      [`/people/${person.id}/suspend`, /^Suspend/],
      ['/servers', 'Servers'],
      [`/servers/${server.id}/transfer`, /^Transfer/],
      [`/servers/${server.id}/delete`, /^Delete/],
      ['/people/1', 'Error'],
    ] as const) {
      await page.goto(path);
      await heading(page, title);
      await examine(path);
    }
    await page.goto(`/servers/${server.id}/delete`);
    await page.getByLabel('Name of the server').fill('x');
    await page.getByRole('button', { name: 'Delete server' }).click();
    await page.getByRole('alert').waitFor();
    await examine('an error');
    await page.goto(`/people/${person.id}/end-sessions`);
    await page.getByRole('button', { name: 'End sessions' }).click();
    await page.getByRole('status').waitFor();
    await examine('a notice');
    await page.goto(`/people/${person.id}/reset-password`);
    await page.getByRole('button', { name: 'Reset password' }).click();
    await page.getByText('/reset-password#code=').waitFor();
    await examine('a link');
    await page.goto('/audit');
    await heading(page, 'Audit log');
    await examine('/audit');
  });
});
