import { expect } from 'chai';
import { createOutbound } from '../../lib/outbound/request.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { reply, startEndpoint, type TestEndpoint } from '../harness/endpoint.ts';
import { type Bot, type Caller, makeApplication, makePerson } from '../harness/factories.ts';
import { startSite } from '../harness/site.ts';

describe('OUTBOUND_ALLOW and the interactionsEndpointUrl', () => {
  let endpoint: TestEndpoint;
  let other: TestEndpoint;
  before(async () => {
    [endpoint, other] = await Promise.all([startEndpoint(), startEndpoint()]);
  });
  after(() => Promise.all([endpoint.close(), other.close()]));

  /** An API under a setting of OUTBOUND_ALLOW, and what saving `url` there fails with; null when it is saved. */
  const withAllowed = async (allow: string, run: (save: (url: string) => Promise<string | null>, api: TestApi) => Promise<void>) => {
    const api = await startTestApi(allow === '' ? {} : { OUTBOUND_ALLOW: allow });
    const owner: Caller = await makePerson(api);
    const bot: Bot = await makeApplication(api, owner);
    const path = `/api/applications/${bot.applicationId}`;
    const save = async (interactionsEndpointUrl: string): Promise<string | null> => {
      const { status, body } = await api.call('PATCH', path, { as: owner.as, body: { interactionsEndpointUrl } });
      if (status === 200) return null;
      expect([status, body.code]).to.deep.equal([400, 'endpoint_unverified']);
      return (body.errors as { step: string }[])[0]?.step ?? '';
    };
    try {
      await run(save, api);
    } finally {
      await api.close();
    }
  };

  it('by default nothing private is let in', () =>
    withAllowed('', async (save) => {
      expect(await save(endpoint.url)).to.equal('url');
      expect(await save(endpoint.url.replace('http:', 'https:'))).to.equal('url');
      expect(endpoint.site.opened()).to.equal(0);
    }));

  it('lets in its host and port, private and over plain http, and nothing else', () =>
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
      // A name that resolves to the very address that is let in.
      const outbound = createOutbound({ allow: [endpoint.site.pair], resolve: async () => ['127.0.0.1'] });
      Object.assign(api.platform, { outbound });
      for (const name of ['alias.example', 'localhost', 'localhost.'])
        expect(await save(`https://${name}:${port}/interactions`), name).to.equal('dns');
      expect([endpoint.site.opened(), other.site.opened()]).to.deep.equal([opened, 0]);
    }));

  it('what it lets in leads nowhere else: a redirect is followed to no place, private or let in', async () => {
    for (const location of [other.url, endpoint.url, 'https://10.0.0.1/']) {
      const leading = await startSite((received, response) => reply(307, undefined, { location })(received as never, response));
      const opened = endpoint.site.opened();
      await withAllowed(`${leading.pair},${endpoint.site.pair}`, async (save) => {
        expect(await save(leading.url)).to.equal('status');
        expect([leading.opened(), endpoint.site.opened(), other.site.opened()]).to.deep.equal([1, opened, 0]);
      });
      await leading.close();
    }
  });

  it('a URL that was let in once is pinged again, and refused, when it is let in no more', () =>
    withAllowed(endpoint.site.pair, async (save, api) => {
      expect(await save(endpoint.url)).to.equal(null);
      Object.assign(api.platform, { outbound: createOutbound({ allow: [] }) });
      expect(await save(endpoint.url)).to.equal('url');
    }));
});
