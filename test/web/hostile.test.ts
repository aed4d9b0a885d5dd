import { expect } from 'chai';
import type { Server } from '../../lib/contract/server.ts';
import { findOverflow } from './axe.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

const script = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';
const turned = '\u202egnp.exe\u202c';

/** Message contents that try to inject scripts, forge links or break the layout. */
const contents = [
  script,
  '**<b onmouseover="window.ran=1">**bold**',
  '<javascript:alert(1)> [click](javascript:window.ran=1) javascript:window.ran=1',
  'https://example.com/"onmouseover="window.ran=1',
  '<https://example.com/<script>window.ran=1</script>>',
  '```html\n<script>window.ran=1</script>\n```',
  `||${script}||`,
  '<@9999999999999999999> <@&9999999999999999999> <:x"onerror=1:1>',
  `${turned} ${'\u0301'.repeat(500)}`,
  'a'.repeat(1990),
  `${'||'.repeat(400)}${'**'.repeat(300)}`,
  '{{constructor.constructor("window.ran=1")()}} ${window.ran=1}',
];

describe('web: hostile contents, names and files', () => {
  let site: Site;
  let owner: Person;
  let stranger: Person;
  let server: Server;
  let channelId = '';
  const open = usePages();

  before(async () => {
    site = await startSite();
    [owner, stranger] = await Promise.all([signUp(site, 'Olga'), signUp(site, 'Mallory')]);
    ({ body: server } = await site.call<Server>('POST', '/api/servers', { as: owner.as, body: { name: script.slice(0, 90) } }));
    channelId = server.channels.find(({ kind }) => kind === 'text')?.id ?? '';
    const { body } = await site.call<{ code: string }>('POST', `/api/servers/${server.id}/invites`, { as: owner.as, body: {} });
    await site.call('POST', `/api/invites/${body.code}`, { as: stranger.as });
    const bio = { displayName: '<b id=x onclick=1>&lt;', bio: script, pronouns: turned };
    expect((await site.call('PATCH', '/api/users/@me', { as: stranger.as, body: bio })).status).to.equal(200);
    await site.call('PATCH', '/api/users/@me/presence', { as: stranger.as, body: { customStatus: script } });
    await site.call('PATCH', `/api/channels/${channelId}`, { as: owner.as, body: { topic: script, name: '<svg onload=window.ran=1>' } });
    for (const content of contents) {
      const { status } = await site.call('POST', `/api/channels/${channelId}/messages`, { as: stranger.as, body: { content } });
      expect(status, content.slice(0, 40)).to.equal(201);
    }
    for (const name of ['"><img src=x onerror=window.ran=1>.html', `${turned}.svg`, 'a.svg']) {
      const form = new FormData();
      form.append('payload_json', JSON.stringify({ content: `file ${name}` }));
      form.append(
        'files',
        new Blob([`<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1">${script}</svg>`], { type: 'image/svg+xml' }),
        name,
      );
      const response = await fetch(`${site.url}/api/channels/${channelId}/messages`, {
        method: 'POST',
        headers: { Authorization: stranger.as },
        body: form,
      });
      expect(response.status).to.equal(201);
    }
    const app = await site.call<{ id: string; token: string }>('POST', '/api/applications', { as: owner.as, body: { name: '<i>bot</i>' } });
    await site.call('POST', `/api/applications/${app.body.id}/authorize`, { as: owner.as, body: { serverId: server.id, permissions: 15 } });
    const embed = {
      title: script,
      url: 'https://example.com/"><script>',
      description: contents.slice(0, 8).join('\n'),
      author: { name: script.slice(0, 200), url: 'https://example.com/', iconUrl: 'https://example.com/x.svg' },
      footer: { text: script },
      image: { url: 'http://127.0.0.1:1/x.png' },
      fields: [{ name: script, value: script, inline: true }],
    };
    const made = await site.call('POST', `/api/channels/${channelId}/messages`, { as: `Bot ${app.body.token}`, body: { embeds: [embed] } });
    expect(made.status).to.equal(201);
  });
  after(() => site?.close());

  it('runs no script, opens no page, renders only safe links, and does not become wider than the window', async () => {
    const page = await open(site, owner);
    page.on('dialog', (dialog) => {
      throw new Error(`a dialog: ${dialog.message()}`);
    });
    await page.goto(`/servers/${server.id}/${channelId}`);
    await page.getByRole('article').last().waitFor();
    for (const cover of await page.locator('.markup button[aria-expanded=false], .markup button.spoiler').all()) await cover.click();
    await page.getByRole('article').getByRole('button', { name: '<b id=x' }).first().click();
    await page.getByRole('dialog').getByText('Member since').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.evaluate<unknown>('window.ran')).to.equal(undefined);
    const found = await page.evaluate<{ scripts: number; strange: string[]; links: string[] }>(`({
      scripts: document.querySelectorAll('main script, main iframe, main object, main embed, main form[action]').length,
      strange: [...document.querySelectorAll('#app *')].flatMap((one) => one.getAttributeNames().filter((name) => /^on/i.test(name))),
      links: [...document.querySelectorAll('main article a')].map((one) => one.protocol + ' ' + (one.origin === location.origin || one.rel.includes('noopener'))),
    })`);
    expect(found.scripts).to.equal(0);
    expect(found.strange).to.deep.equal([]);
    expect(found.links.filter((one) => !/^https?: true$/.test(one))).to.deep.equal([]);
    expect(await findOverflow(page)).to.deep.equal([]);
    expect(new URL(page.url()).pathname).to.equal(`/servers/${server.id}/${channelId}`);
  });

  it('serves files that could contain scripts as downloads, and shows none of them as an image', async () => {
    const { body } = await site.call<{ attachments: { url: string; filename: string }[] }[]>('GET', `/api/channels/${channelId}/messages`, {
      as: owner.as,
    });
    const files = body.flatMap(({ attachments }) => attachments);
    expect(files).to.have.length(3);
    const page = await open(site, owner);
    for (const { url } of files) {
      const { headers, status } = await fetch(url);
      expect(status).to.equal(200);
      expect(headers.get('content-disposition')).to.match(/^attachment/);
      expect(headers.get('content-security-policy')).to.contain('sandbox');
    }
    await page.goto(`/servers/${server.id}/${channelId}`);
    await page.getByText('a.svg').first().waitFor();
    expect(await page.locator('article img[src*=".svg"]').count()).to.equal(0);
  });
});
