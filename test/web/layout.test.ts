import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: layout', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openChannel } = fixture;

  const post = (channelId: string, body: object): Promise<Message> =>
    request<Message>(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, body);
  const styleOf = (selector: string, property: string): string => `getComputedStyle(document.querySelector('${selector}')).${property}`;

  it('styles the message menu before the emoji picker was opened', async () => {
    const channelId = await newChannel('menu');
    await post(channelId, { content: 'hello' });
    const page = await openChannel(fixture.ada, channelId);
    await page.getByRole('article').hover();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menu').waitFor();
    expect(await page.evaluate(styleOf('.popover', 'boxShadow'))).not.to.equal('none');
  });

  it('shows inline code with a background, also in bold text', async () => {
    const channelId = await newChannel('code');
    await post(channelId, { content: 'run `npm start` or **`npm test`**' });
    const page = await openChannel(fixture.ada, channelId);
    await page.getByRole('article').waitFor();
    const [plain, bold] = [styleOf('.markup > code', 'backgroundColor'), styleOf('.markup strong > code', 'backgroundColor')];
    expect(await page.evaluate(plain)).to.equal(await page.evaluate(bold));
    expect(await page.evaluate(plain)).not.to.equal('rgba(0, 0, 0, 0)');
  });

  it('fits a pinned reply to a long message into the panel', async () => {
    const channelId = await newChannel('pins');
    const original = await post(channelId, { content: 'a long original '.repeat(30) });
    const reply = await post(channelId, { content: 'short', replyTo: original.id });
    await request(fixture.ada, 'PUT', `/api/channels/${channelId}/pins/${reply.id}`);
    const page = await openChannel(fixture.ada, channelId);
    await page.getByRole('button', { name: 'Pinned messages' }).click();
    await page.locator('.pin-list .reply-line').waitFor();
    expect(
      await page.evaluate(`(() => {
        const panel = document.querySelector('.pin-list').parentElement.getBoundingClientRect();
        return [...document.querySelectorAll('.pin-list > li, .pin-list .reply-line')].every((one) => one.getBoundingClientRect().right <= panel.right);
      })()`),
    ).to.equal(true);
  });

  it('on a phone, closes the lists when any channel is chosen, and keeps them open when a server is chosen', async () => {
    const [channelId] = [await newChannel('here'), await newChannel('there')];
    const page = await openChannel(fixture.ada, channelId, { width: 360, height: 740 });
    const listsButton = page.getByRole('button', { name: 'Servers and channels' });
    for (const name of ['there', 'there', 'here']) {
      await listsButton.click();
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('textbox', { name: `Message ${name}` }).waitFor();
      await page.locator('.side-open').waitFor({ state: 'detached' });
    }
    await listsButton.click();
    await page.getByRole('link', { name: 'Direct messages' }).click();
    await page.waitForURL('**/dms');
    await page.getByRole('navigation', { name: 'Servers' }).getByRole('link', { name: 'Harbour' }).click();
    await page.getByRole('link', { name: 'there', exact: true }).click();
    await page.getByRole('textbox', { name: 'Message there' }).waitFor();
    await page.locator('.side-open').waitFor({ state: 'detached' });
  });
});
