import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { freePort } from '../../apps/local/probe.ts';
import type { Application } from '../../lib/contract/application.ts';
import type { EndpointDeliveryPage } from '../../lib/contract/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';
import { useCodeRunner } from './code-runner.ts';

describe('web: the developer portal', () => {
  let site: Site;
  let endpointPort: number;
  const open = usePages();
  const { run, stop } = useCodeRunner();

  before(async () => {
    endpointPort = await freePort();
    site = await startSite({ OUTBOUND_ALLOW: `localhost:${endpointPort}` });
  });
  after(() => site?.close());

  async function makeApplication(person: Person, name = 'Greeter'): Promise<Application & { token: string }> {
    return (await site.call<Application & { token: string }>('POST', '/api/applications', { as: person.as, body: { name } })).body;
  }

  const codeAt = async (page: Page, at: number): Promise<string> => page.locator('pre').nth(at).innerText();

  it('takes a new application from the login to its first answered command in at most 15 clicks', async () => {
    const person = await signUp(site, 'Pia');
    const page = await open(site);
    await page.goto('/developers');
    await page.getByLabel('Username').fill(person.username);
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'My applications' }).waitFor();

    let clicks = 0;
    const click = async (what: Locator): Promise<void> => {
      clicks++;
      await what.click();
    };
    await click(page.getByRole('button', { name: 'New application' }));
    await page.getByLabel('Name').fill('Greeter');
    await click(page.getByRole('button', { name: 'Create application', exact: true }));
    await click(page.getByRole('link', { name: 'Add it to a server' }));
    await click(page.getByRole('button', { name: 'Create server' }));
    await click(page.getByRole('button', { name: 'Add to My test server' }));
    await click(page.getByRole('link', { name: 'Run your first bot' }));
    // Copying the code, the install command and the run command takes one click each.
    clicks += await page.getByRole('button', { name: /^Copy the c/ }).count();
    const token = /^PARLANCE_TOKEN='(\S+)' node bot\.mjs$/.exec((await codeAt(page, 2)).trim())?.[1] ?? '';
    const code = await codeAt(page, 0);
    expect(code).not.to.contain(token);
    await run('bot.mjs', code, { PARLANCE_TOKEN: token }, 'Online as Greeter');
    const [client] = await Promise.all([page.waitForEvent('popup'), click(page.getByRole('link', { name: /^Open My test server/ }))]);
    const composer = client.getByRole('textbox', { name: /general/ });
    await click(composer);
    await composer.fill('/hello ');
    await client.keyboard.press('Enter');
    await client.getByRole('article').getByText('Hello, Pia!').waitFor();
    expect(clicks).to.be.at.most(15);

    await page.reload();
    await page.getByRole('heading', { name: 'Use the command' }).waitFor();
    expect(await page.locator('body').innerText()).not.to.contain(token);
  });

  it('reports each step of the check of an unreachable, a wrong and a correct endpoint, and lists its deliveries', async () => {
    const person = await signUp(site, 'Edda');
    const { id, signingSecret } = await makeApplication(person);
    const page = await open(site, person);
    await page.goto(`/developers/${id}/first-bot?way=endpoint`);
    const code = await codeAt(page, 0);
    await page.getByRole('link', { name: 'General Information' }).first().click();
    const section = page.getByRole('region', { name: 'Interactions Endpoint' });
    const saveUrl = async (url: string): Promise<void> => {
      await section.getByLabel('Interactions Endpoint URL').fill(url);
      await section.getByRole('button', { name: 'Save' }).click();
    };
    const step = (name: string, state: string): Locator => section.getByRole('listitem').filter({ hasText: `${name}: ${state}` });
    const url = `http://localhost:${endpointPort}/`;

    await saveUrl('http://bot.example.org/');
    await step('The URL is allowed', 'failed').waitFor();
    await saveUrl(url);
    await step('The connection can be opened', 'failed').waitFor();
    await step('The host name resolves to a public address', 'passed').waitFor();
    await step('The response has status 200', 'not reached').waitFor();

    const env = { PORT: String(endpointPort) };
    await run('endpoint.mjs', code, { ...env, SIGNING_SECRET: 'another' }, 'Listening');
    await saveUrl(`${url}again`);
    await step('The response has status 200', 'failed').waitFor();
    await section.getByText('HTTP status 401').waitFor();
    await stop();

    await run('endpoint.mjs', code, { ...env, SIGNING_SECRET: signingSecret ?? '' }, 'Listening');
    await saveUrl(url);
    await step('The body is {"type":"pong"}', 'passed').waitFor();
    await section.getByRole('button', { name: 'Send test request' }).click();
    await section.getByText('The endpoint responded correctly.').waitFor();
    const server = await site.call<{ id: string; channels: { id: string }[] }>('POST', '/api/servers', {
      as: person.as,
      body: { name: 'Quay' },
    });
    const channel = server.body.channels[0]?.id ?? '';
    await site.call('POST', `/api/applications/${id}/authorize`, { as: person.as, body: { serverId: server.body.id } });
    const commands = await site.call<{ id: string }[]>('PUT', `/api/applications/${id}/commands`, {
      as: person.as,
      body: [{ name: 'hello', description: 'Says hello.' }],
    });
    // On a busy machine the endpoint may miss the 3 seconds of an interaction, which is sent only once.
    for (let answered = false, sent = 1; !answered; sent++) {
      await site.call('POST', `/api/channels/${channel}/commands/${commands.body[0]?.id}/invoke`, { as: person.as });
      await waitUntil(async () => {
        const { items } = (await site.call<EndpointDeliveryPage>('GET', `/api/applications/${id}/deliveries`, { as: person.as })).body;
        answered = items[0]?.outcome === 'answered';
        return items.length === sent;
      }, 'the delivery is listed');
    }
    const deliveries = page.getByRole('region', { name: 'Deliveries', exact: true });
    await deliveries.getByRole('button', { name: 'Refresh' }).click();
    await deliveries.getByRole('row').filter({ hasText: 'Answered' }).filter({ hasText: '200' }).waitFor();
  });

  it('shows errors of commands at their field and line, replaces the list on save, and warns about unsaved changes', async () => {
    const person = await signUp(site, 'Cora');
    const { id } = await makeApplication(person);
    await site.call('PUT', `/api/applications/${id}/commands`, { as: person.as, body: [{ name: 'old', description: 'Old.' }] });
    const page = await open(site, person);
    await page.goto(`/developers/${id}/commands`);
    await page.getByRole('rowheader', { name: '/old' }).waitFor();
    await page.getByRole('button', { name: 'Add command' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Roll!');
    await page.getByLabel('Description', { exact: true }).fill('Rolls dice.');
    const save = page.getByRole('button', { name: 'Save commands' });
    await save.click();
    const field = page.getByRole('textbox', { name: 'Name', exact: true });
    await page.getByRole('rowheader').filter({ hasText: '1 error' }).waitFor();
    expect(await field.getAttribute('aria-invalid')).to.equal('true');

    await page.getByRole('button', { name: 'JSON' }).click();
    const json = page.getByLabel('Commands as JSON');
    const at = (await json.inputValue()).split('\n').findIndex((line) => line.includes('Roll!')) + 1;
    await page
      .getByRole('listitem')
      .filter({ hasText: `Line ${at}` })
      .filter({ hasText: '/1/name' })
      .waitFor();
    await json.fill('[\n  { "name": "roll", "description": "Rolls dice." },\n]');
    await page.getByRole('listitem').filter({ hasText: 'Line 3' }).waitFor();
    await json.fill('[\n  { "name": "roll", "description": "Rolls dice." }\n]');
    await page.getByText('Saving adds 1, changes 0 and removes 1.').waitFor();

    await page.getByRole('link', { name: 'Bot', exact: true }).click();
    await page.getByRole('link', { name: 'Commands (unsaved)' }).click();
    expect(await json.inputValue()).to.contain('"roll"');
    const dialogShown = page.waitForEvent('dialog');
    const leaving = page.getByRole('link', { name: 'Open Parlance' }).click({ noWaitAfter: true });
    await (await dialogShown).dismiss();
    await leaving;
    await save.click();
    await page.getByText('All changes saved.').waitFor();
    const { body } = await site.call<{ name: string }[]>('GET', `/api/applications/${id}/commands`, { as: person.as });
    expect(body.map(({ name }) => name)).to.deep.equal(['roll']);
  });

  it('resets the token at once, and deletes an application only after its name is typed', async () => {
    const person = await signUp(site, 'Dora');
    const { id, token } = await makeApplication(person, 'Short lived');
    const page = await open(site, person);
    await page.goto(`/developers/${id}/bot`);
    await page.getByRole('button', { name: 'Reset token' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset token' }).click();
    const fresh = await page.getByRole('region', { name: 'Bot token' }).locator('code').innerText();
    expect((await site.call('GET', '/api/auth/me', { as: `Bot ${token}` })).status).to.equal(401);
    expect((await site.call('GET', '/api/auth/me', { as: `Bot ${fresh.trim()}` })).status).to.equal(200);
    await page.getByRole('link', { name: 'General Information' }).first().click();
    await page.getByRole('button', { name: 'Delete application' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Delete application' });
    await dialog.getByRole('textbox').fill('Short');
    expect(await confirm.isDisabled()).to.equal(true);
    await dialog.getByRole('textbox').fill('Short lived');
    await confirm.click();
    await page.getByText('An application is a bot with its commands.').waitFor();
    expect((await site.call('GET', `/api/applications/${id}`, { as: person.as })).status).to.equal(404);
  });
});
