import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Application } from '../../lib/contract/application.ts';
import type { Message } from '../../lib/contract/message.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import type { Person } from './browser.ts';
import { useWebFixture } from './web-fixture.ts';

const maxScriptBytes = 120_000;

describe('web: the reference for developers', () => {
  const fixture = useWebFixture();
  const { openPage, request, newChannel, messagesIn } = fixture;

  /** Opens a page of the reference; `as` is logged in, but the page must not use that. */
  const openReference = async (path: string, as: Person = fixture.ada): Promise<Page> => {
    const page = await openPage(as);
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  const isInView = (page: Page, anchor: string): Promise<boolean> =>
    page.evaluate<boolean>(
      `(() => { const top = document.getElementById('${anchor}')?.getBoundingClientRect().top ?? -1; return top >= 0 && top < innerHeight; })()`,
    );

  it('shows every operation, names the page in the title, and the browser’s back returns to the page before', async () => {
    const { body } = await fixture.site.call<{ paths: Record<string, Record<string, unknown>> }>('GET', '/api/openapi.json');
    const expected = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const page = await openReference('/developers/reference');
    const groups = page.getByRole('navigation', { name: 'Pages' }).getByRole('list').last().getByRole('link');
    const shown: string[] = [];
    for (const name of await groups.allInnerTexts()) {
      await groups.getByText(name, { exact: true }).first().click();
      await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
      expect(await page.title()).to.equal(`${name} · Parlance for developers`);
      shown.push(...(await page.locator('.ref-endpoint').allInnerTexts()));
      await page.goBack();
      await page.getByRole('heading', { name: 'API reference', level: 1 }).waitFor();
    }
    expect(shown).to.have.members(expected);
  });

  it('finds an operation by its words and an error by its cause with the keyboard alone', async () => {
    const page = await openReference('/developers/reference');
    for (const [query, path, anchor] of [
      ['creat messag', '/developers/reference/messages', 'createMessage'],
      ['highest role of the caller', '/developers/reference/errors', 'role_hierarchy'],
      ['pagination', '/developers/reference', 'pages'],
    ] as const) {
      await page.keyboard.press('/');
      await page.keyboard.type(query);
      await page.getByRole('option', { selected: true }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**${path}#${anchor}`);
      await page.locator(`#${anchor}`).waitFor();
      await waitUntil(() => isInView(page, anchor), `${anchor} in view`);
    }
  });

  it('finds the operations that take files as uploads', async () => {
    const page = await openReference('/developers/reference');
    await page.getByRole('combobox').fill('upload');
    await page.getByRole('option', { name: 'Create message Operation' }).waitFor();
  });

  it('shows the fields of a body, those of an answer after a click, and what must be there in the body only', async () => {
    const page = await openReference('/developers/reference/servers');
    const create = page.locator('#createServer');
    const body = create.locator('.ref-part', { has: page.getByRole('heading', { name: 'Body' }) });
    const answer = create.locator('.ref-part', { has: page.getByRole('heading', { name: 'Answer' }) });
    expect(await body.getByText('required', { exact: true }).count()).to.be.greaterThan(0);
    expect(await answer.locator('.ref-field').count()).to.equal(0);
    await answer.getByText('Show fields').click();
    await answer.getByText('ownerId').waitFor();
    expect(await answer.getByText('required', { exact: true }).count()).to.equal(0);
    const events = await openReference('/developers/reference/events');
    expect(await events.getByText('required', { exact: true }).count()).to.equal(0);
    expect(await events.getByText('may be absent').count()).to.be.greaterThan(0);
  });

  it('says each close code once, and what the rate limit bucket of an operation holds', async () => {
    const gateway = await openReference('/developers/reference/gateway');
    expect((await gateway.locator('#close-4007').innerText()).match(/identify/gi)).to.have.length(1);
    const page = await openReference('/developers/reference/messages');
    await page.locator('#createMessage').getByRole('link', { name: 'caller', exact: true }).click();
    await page.locator('#buckets').getByText('50 per second, 100 at once').first().waitFor();
  });

  it('shows code before fields on a phone, breaks no word of a table, and has a header of one word each', async () => {
    const page = await openPage(fixture.ada);
    await page.setViewportSize({ width: 360, height: 740 });
    const top = (selector: string): Promise<number> =>
      page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().top`);
    await page.goto('/developers/reference/messages');
    await page.locator('#createMessage').waitFor();
    expect(await top('#createMessage .ref-samples')).to.be.lessThan(await top('#createMessage .ref-part'));
    const lines = (selector: string): Promise<number[]> =>
      page.evaluate<number[]>(
        `[...document.querySelectorAll('${selector}')].map((one) => { const range = document.createRange(); range.selectNodeContents(one);
          return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom / 8))).size; })`,
      );
    await page.goto('/developers/guides/errors');
    await page.locator('.ref-table td').first().waitFor();
    expect(new Set(await lines('.ref-table td:nth-child(2)'))).to.deep.equal(new Set([1]));
    await page.goto('/developers');
    await page.locator('.portal-person').waitFor();
    expect(new Set(await lines('.portal-documents a, .portal-back'))).to.deep.equal(new Set([1]));
  });

  it('is named on the start page of the client', async () => {
    const page = await openPage(fixture.ada);
    await page.goto('/');
    await page.getByRole('link', { name: 'Build a bot' }).click();
    await page.waitForURL('**/developers');
  });

  it('shows the section that an address names, also of the last error, and says that an unknown page does not exist', async () => {
    for (const [path, anchor] of [
      ['messages', 'deleteMessage'],
      ['errors', 'unavailable'],
      ['types', 'Message'],
    ] as const) {
      const page = await openReference(`/developers/reference/${path}#${anchor}`);
      await waitUntil(() => isInView(page, anchor), `${anchor} in view`);
    }
    await (await openReference('/developers/reference/nothing')).getByRole('heading', { name: 'Page not found' }).waitFor();
  });

  it('calculates permissions in both directions', async () => {
    const page = await openReference('/developers/reference/permissions');
    const number = page.getByLabel('Permissions as a number');
    await page.getByLabel('Send Messages').check();
    await page.getByLabel('Manage Roles').check();
    expect(await number.inputValue()).to.equal('130');
    await number.fill('4097');
    expect(await page.getByRole('checkbox', { checked: true }).count()).to.equal(2);
    expect(await page.getByLabel('Administrator').isChecked()).to.equal(true);
    await page.waitForURL('**/permissions?p=4097');
    await page.reload();
    expect(await number.inputValue()).to.equal('4097');
    await number.fill('8192');
    await page.getByText('Enter a whole number from 0 to 8191.').waitFor();
  });

  it('writes code for the kits and remembers the language', async () => {
    const page = await openReference('/developers/reference/messages#createMessage');
    const code = page.locator('#createMessage').getByRole('group', { name: /^the code of/ });
    expect(await code.innerText()).to.match(/# With a file:\ncurl [^#]+ -F 'payload_json=\{"content":.*\}' \\\n {2}-F files=@/);
    await page.locator('#createMessage').getByRole('button', { name: 'JavaScript' }).click();
    expect(await code.innerText()).to.match(/^await bot\.api\.createMessage\('\d{19}', \{ .*content: '/);
    await page.locator('#createMessage').getByRole('button', { name: 'Python' }).click();
    expect(await code.innerText()).to.match(/^await bot\.api\.create_message\("\d{19}", .*content="/);
    await page.reload();
    expect(await code.innerText()).to.contain('create_message');
  });

  it('sends a message with a bot’s token and never with the person’s session, keeps the token nowhere, and asks before a deletion', async () => {
    const application = await request<Application & { token: string }>(fixture.ada, 'POST', '/api/applications', { name: 'Trier' });
    await request(fixture.ada, 'POST', `/api/applications/${application.id}/authorize`, { serverId: fixture.server.id });
    const channelId = await newChannel('tries');
    const page = await openReference('/developers/reference/messages');
    const sent: Record<string, string>[] = [];
    page.on('request', (one) => void (one.method() === 'GET' || one.allHeaders().then((headers) => sent.push(headers))));
    const create = page.locator('#createMessage');
    await create.getByRole('button', { name: 'Try it: createMessage' }).click();
    await create.getByRole('button', { name: 'Send' }).click();
    await create.getByText('it cannot be empty').waitFor();
    await create.getByText('Enter your bot’s token.').waitFor();
    await create.getByLabel('channelId').fill(channelId);
    await create.getByLabel('content').fill('Hello from the reference');
    await create.getByLabel('Bot token').fill('wrong');
    await create.getByRole('button', { name: 'Send' }).click();
    await create.getByText('The platform does not accept this token').waitFor();
    await create.getByLabel('Bot token').fill(application.token);
    await create.getByRole('button', { name: 'Send' }).click();
    await create.getByText('201').first().waitFor();
    const message = JSON.parse(await create.getByRole('group', { name: 'the body of the answer' }).innerText()) as Message;
    expect((await messagesIn(channelId)).map(({ id, content }) => [id, content])).to.deep.equal([[message.id, 'Hello from the reference']]);
    expect(message.author.displayName).to.equal('Trier');

    for (const emoji of ['👍', '%F0%9F%91%8E']) {
      await page.goto('/developers/reference/reactions');
      const add = page.locator('#addReaction');
      await add.getByRole('button', { name: 'Try it: addReaction' }).click();
      await add.getByLabel('Bot token').fill(application.token);
      await add.getByLabel('channelId').fill(channelId);
      await add.getByLabel('messageId').fill(message.id);
      await add.getByLabel('emoji').fill(emoji);
      await add.getByRole('button', { name: 'Send' }).click();
      await add.locator('.ref-result').getByText('204 No Content').waitFor();
    }
    expect((await messagesIn(channelId))[0]?.reactions.map(({ emoji }) => emoji)).to.deep.equal(['👍', '👎']);

    await page.goto('/developers/reference/messages');
    const remove = page.locator('#deleteMessage');
    await remove.getByRole('button', { name: 'Try it: deleteMessage' }).click();
    await remove.getByLabel('Bot token').fill(application.token);
    await remove.getByLabel('channelId').fill(channelId);
    await remove.getByLabel('messageId').fill(message.id);
    await remove.getByRole('button', { name: 'Send' }).click();
    expect(await messagesIn(channelId)).to.have.length(1);
    await page.getByRole('dialog').getByRole('button', { name: 'Send DELETE' }).click();
    await remove.locator('.ref-result').getByText('204 No Content').waitFor();
    expect(await messagesIn(channelId)).to.deep.equal([]);

    expect(sent).to.have.length(5);
    expect(sent.filter((headers) => 'cookie' in headers)).to.deep.equal([]);
    expect(
      await page.evaluate<string>('location.href + JSON.stringify({ ...localStorage, ...sessionStorage, ...history.state })'),
    ).not.to.contain(application.token);
    await page.reload();
    await create.getByRole('button', { name: 'Try it: createMessage' }).click();
    expect(await create.getByLabel('Bot token').inputValue()).to.equal('');
  });

  it(`loads less than ${maxScriptBytes / 1000} kB of script, and moves nothing while it loads`, async () => {
    const page = await openPage(fixture.ada);
    const scripts: Promise<Buffer>[] = [];
    page.on('response', (answer) => void (answer.request().resourceType() === 'script' && scripts.push(answer.body())));
    await page.goto('/developers/reference/messages');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    const bytes = (await Promise.all(scripts)).reduce((sum, script) => sum + script.length, 0);
    expect(bytes).to.be.greaterThan(20_000).and.lessThan(maxScriptBytes);
    const shift = await page.evaluate<number>(`new Promise((done) => new PerformanceObserver((list) =>
      done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))).observe({ type: 'layout-shift', buffered: true }) ?? setTimeout(() => done(0), 500))`);
    expect(shift).to.be.lessThan(0.1);
  });
});
