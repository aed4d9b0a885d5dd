import { expect } from 'chai';
import { createOutbound } from '../../lib/outbound/request.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { reply, startEndpoint } from '../harness/endpoint.ts';
import { makeApplication, makePerson } from '../harness/factories.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';

describe('OUTBOUND_ALLOW and the interactionsEndpointUrl', () => {
  const [endpoint, other] = [use(startEndpoint), use(startEndpoint)];

  /** The error of the last URL that was not saved. */
  let lastMessage = '';
  /** Runs `run` with an API under this OUTBOUND_ALLOW. `save` returns the step at which saving a URL fails, or null. */
  const withAllowed = async (allow: string, run: (save: (url: string) => Promise<string | null>, api: TestApi) => Promise<void>) => {
    const api = await startTestApi(allow === '' ? {} : { OUTBOUND_ALLOW: allow });
    const owner = await makePerson(api);
    const bot = await makeApplication(api, owner);
    const path = `/api/applications/${bot.applicationId}`;
    const save = async (interactionsEndpointUrl: string): Promise<string | null> => {
      const { status, body } = await api.call('PATCH', path, { as: owner.as, body: { interactionsEndpointUrl } });
      if (status === 200) return null;
      expect([status, body.code]).to.deep.equal([400, 'endpoint_unverified']);
      const [error] = body.errors as { step: string; message: string }[];
      lastMessage = error?.message ?? '';
      return error?.step ?? '';
    };
    try {
      await run(save, api);
    } finally {
      await api.close();
    }
  };

  it('allows no private address by default; names the setting and its value for a private host, and the value works', () =>
    withAllowed('', async (save, api) => {
      const { port } = endpoint.site;
      for (const url of [endpoint.url, endpoint.url.replace('http:', 'https:')]) expect(await save(url), url).to.equal('url');
      expect(endpoint.site.opened()).to.equal(0);
      for (const [url, pair] of [
        [endpoint.url, endpoint.site.pair],
        [`https://127.0.0.1:${port}/`, endpoint.site.pair],
        ['http://localhost/interactions', 'localhost:80'],
        ['https://bot.localhost/', 'bot.localhost:443'],
        ['https://[::1]:9000/', '[::1]:9000'],
        ['https://intern.example/', 'intern.example:443'],
      ] as const) {
        Object.assign(api.platform, { outbound: createOutbound({ allow: [], resolve: async () => ['10.0.0.1'] }) });
        expect(await save(url), url).to.be.oneOf(['url', 'dns']);
        expect(lastMessage, url).to.include(`OUTBOUND_ALLOW=${pair} (`);
        Object.assign(api.platform, { outbound: createOutbound({ allow: [pair] }) });
        if (url === endpoint.url) expect(await save(url)).to.equal(null);
      }
      for (const url of ['http://bot.example/', 'no url', 'https://user@127.0.0.1/']) {
        await save(url);
        expect(lastMessage, url).not.to.include('OUTBOUND_ALLOW');
      }
    }));

  it('allows exactly its host and port, private and over plain http', () =>
    withAllowed(endpoint.site.pair, async (save, api) => {
      const { port } = endpoint.site;
      expect(await save(endpoint.url)).to.equal(null);
      const opened = endpoint.site.opened();
      for (const url of [
        other.url,
        other.url.replace('http:', 'https:'),
        `http://127.0.0.1:${port + 1}/`,
        `https://127.0.0.2:${port}/`,
        `http://127.0.0.2:${port}/`,
        `https://[::ffff:127.0.0.1]:${port}/`,
        `http://localhost:${port}/`,
        `http://user@127.0.0.1:${port}/`,
        'http://bot.example/',
        `http://bot.example:${port}/`,
      ])
        expect(await save(url), url).to.equal('url');
      // A name that resolves to the allowed address.
      const outbound = createOutbound({ allow: [endpoint.site.pair], resolve: async () => ['127.0.0.1'] });
      Object.assign(api.platform, { outbound });
      for (const name of ['alias.example', 'localhost', 'localhost.'])
        expect(await save(`https://${name}:${port}/interactions`), name).to.equal('dns');
      expect([endpoint.site.opened(), other.site.opened()]).to.deep.equal([opened, 0]);
    }));

  it('follows no redirect of an allowed endpoint, even to an allowed address', async () => {
    for (const location of [other.url, endpoint.url, 'https://10.0.0.1/']) {
      const redirecting = await startSite((received, response) => reply(307, undefined, { location })(received as never, response));
      const opened = endpoint.site.opened();
      await withAllowed(`${redirecting.pair},${endpoint.site.pair}`, async (save) => {
        expect(await save(redirecting.url)).to.equal('status');
        expect([redirecting.opened(), endpoint.site.opened(), other.site.opened()]).to.deep.equal([1, opened, 0]);
      });
      await redirecting.close();
    }
  });

  it('refuses to save a URL again that is no longer allowed', () =>
    withAllowed(endpoint.site.pair, async (save, api) => {
      expect(await save(endpoint.url)).to.equal(null);
      Object.assign(api.platform, { outbound: createOutbound({ allow: [] }) });
      expect(await save(endpoint.url)).to.equal('url');
    }));
});
