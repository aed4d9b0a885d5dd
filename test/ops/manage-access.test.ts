import { expect } from 'chai';
import { makePerson, makeServer } from '../harness/factories.ts';
import { type Caller, send, tally } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { type OpsRequest, opsPassword, startTestOps, type TestOps } from './test-ops.ts';

const suspend = (api: TestOps, { id }: Caller, request: OpsRequest) => api.ops('POST', `/people/${id}/suspend`, { form: {}, ...request });
const isSuspended = async ({ platform }: TestOps, { id }: Caller): Promise<boolean> =>
  (await platform.db.accounts.findOne({ _id: id }))?.suspendedAt !== undefined;

describe('requests to the operators’ pages that change something', () => {
  const api = use(() => startTestOps());
  const open = use(() => startTestOps({ OPS_PASSWORD: '' }));
  const person = make(() => makePerson(api), { each: true });
  const openPerson = make(() => makePerson(open), { each: true });

  /** Headers of requests that other sites can make a browser send. `Origin: null` comes from sandboxed frames and pages without referrer. */
  const foreign = (own: string): Record<string, Record<string, string>> => ({
    'another site': { Origin: 'https://attacker.example', 'Sec-Fetch-Site': 'cross-site' },
    'another site, in a browser without Sec-Fetch-Site': { Origin: 'https://attacker.example' },
    'another port of this host': { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' },
    'another port of this host, in a browser without Sec-Fetch-Site': { Origin: 'http://127.0.0.1:1' },
    'a page without origin': { Origin: 'null' },
    'a request without Origin': { Origin: '', 'Sec-Fetch-Site': 'cross-site' },
    'a request with neither header': { Origin: '' },
    'a browser that names another site, whatever its origin': { Origin: own, 'Sec-Fetch-Site': 'cross-site' },
    'an address that was typed or a bookmark': { Origin: own, 'Sec-Fetch-Site': 'none' },
  });

  for (const [who, headers] of Object.entries(foreign('http://own')))
    it(`403 for ${who}, with a password and without, and nothing is changed`, async () => {
      for (const [site, target] of [
        [api, person],
        [open, openPerson],
      ] as const) {
        const sent = { ...headers, ...(headers.Origin === 'http://own' ? { Origin: site.opsUrl } : {}) };
        const entries = await site.platform.db.operatorAudit.countDocuments({});
        expect((await suspend(site, target, { headers: sent })).status).to.equal(403);
        const plain = { ...sent, 'Content-Type': 'text/plain' };
        expect((await site.ops('POST', `/people/${target.id}/suspend`, { body: 'reason=x', headers: plain })).status).to.equal(403);
        expect(await isSuspended(site, target)).to.equal(false);
        expect(await site.platform.db.operatorAudit.countDocuments({})).to.equal(entries);
      }
    });

  it('works from a page of the same origin, by Sec-Fetch-Site behind a proxy that changes Host, and by Origin without it', async () => {
    const other = await makePerson(api);
    expect((await suspend(api, person, { headers: { Origin: 'https://ops.example', 'Sec-Fetch-Site': 'same-origin' } })).status).to.equal(
      303,
    );
    expect((await suspend(api, other, {})).status).to.equal(303);
    expect((await suspend(open, openPerson, {})).status).to.equal(303);
    expect([await isSuspended(api, person), await isSuspended(api, other), await isSuspended(open, openPerson)]).to.deep.equal([
      true,
      true,
      true,
    ]);
  });

  it('415 for another content type, 413 for a body of more than 16 KiB, 400 for a field given twice; nothing is changed', async () => {
    const path = `/people/${person.id}/suspend`;
    for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=x'])
      expect((await api.ops('POST', path, { body: 'reason=x', headers: { 'Content-Type': type } })).status, type).to.equal(415);
    expect((await api.ops('POST', path, { body: `reason=${'x'.repeat(17_000)}` })).status).to.equal(413);
    for (const body of ['reason=x&reason=y', 'reason[a]=x']) expect((await api.ops('POST', path, { body })).status, body).to.equal(400);
    expect(await isSuspended(api, person)).to.equal(false);
  });

  it('without a password, 421 to a Host of another name', async () => {
    const host = `attacker.example:${new URL(open.opsUrl).port}`;
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const headers = { Host: host, Origin: `http://${host}`, 'Content-Type': 'application/x-www-form-urlencoded' };
      request(`${open.opsUrl}/people/${openPerson.id}/suspend`, { method: 'POST', headers }, (response) =>
        resolve(response.resume().statusCode),
      )
        .on('error', reject)
        .end('');
    });
    expect(status).to.equal(421);
    expect(await isSuspended(open, openPerson)).to.equal(false);
  });

  it('401 without the password for every page; other methods than GET and POST are 404', async () => {
    const server = await makeServer(api, person);
    const pages = [`/people/${person.id}`, `/people/${person.id}/suspend`, `/servers/${server.id}`, `/servers/${server.id}/delete`];
    for (const path of ['/people', '/servers', '/audit', ...pages])
      expect((await api.ops('GET', path, { password: null })).status, path).to.equal(401);
    expect((await suspend(api, person, { password: null })).status).to.equal(401);
    expect((await api.ops('POST', `/servers/${server.id}/delete`, { form: { name: server.name }, password: 'wrong' })).status).to.equal(
      401,
    );
    expect((await api.ops('DELETE', `/servers/${server.id}`)).status).to.equal(404);
    expect(await isSuspended(api, person)).to.equal(false);
    await send(api, 200, person, 'GET', `/api/servers/${server.id}`);
  });

  it('the policy allows forms to this origin only, and the origin is sent with them', async () => {
    const { headers } = await api.ops('GET', `/people/${person.id}/suspend`);
    expect(headers.get('content-security-policy')).to.contain("form-action 'self'").and.contain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).to.equal('same-origin');
    expect(headers.get('cache-control')).to.equal('no-store');
  });
});

describe('wrong passwords of the operators’ pages', () => {
  let now = Date.now();
  const api = use(() => startTestOps({ TRUST_PROXY: '1', now: () => now }));
  let addresses = 0;
  const nextAddress = (): string => `203.0.113.${++addresses}`;
  const get = (address: string, password: string | null, user = 'ops') =>
    api.ops('GET', '/healthy', { password, user, headers: { 'X-Forwarded-For': address } });
  /** Tries `count` different wrong passwords. */
  const guess = async (address: string, count: number) => {
    const answers = [];
    for (let at = 0; at < count; at++) answers.push(await get(address, `guess ${at}`));
    return answers;
  };

  it('an address that tried 10 of them gets 429 for every password, also the right one, until 10 minutes after the first', async () => {
    const address = nextAddress();
    expect(tally(await guess(address, 9))).to.deep.equal({ 401: 9 });
    expect((await get(address, opsPassword)).status).to.equal(404);
    expect(tally(await guess(address, 12))).to.deep.equal({ 401: 10, 429: 2 });
    const blocked = await get(address, opsPassword);
    expect([blocked.status, blocked.headers.get('retry-after')]).to.deep.equal([429, '600']);
    expect((await get(address, null)).status).to.equal(401);
    now += 599_000;
    expect((await get(address, opsPassword)).headers.get('retry-after')).to.equal('1');
    now += 2_000;
    expect((await get(address, opsPassword)).status).to.equal(404);
  });

  it('counts every wrong user and password, and addresses apart', async () => {
    const address = nextAddress();
    for (let at = 0; at < 10; at++) expect((await get(address, opsPassword, `root${at}`)).status).to.equal(401);
    expect((await get(address, opsPassword)).status).to.equal(429);
    expect((await get(nextAddress(), opsPassword)).status).to.equal(404);
  });

  it('counts the same wrong password once, because browsers and scrapers repeat it', async () => {
    const address = nextAddress();
    for (let at = 0; at < 30; at++) expect((await get(address, 'old password')).status).to.equal(401);
    expect((await get(address, opsPassword)).status).to.equal(404);
  });

  it('accepts user ops and ops.<name> only', async () => {
    for (const user of ['ops', 'ops.ada', 'ops.a-b_9']) expect((await get(nextAddress(), opsPassword, user)).status, user).to.equal(404);
    for (const user of ['', 'ops.', 'ops.Ada', 'opsx', 'ops.<b>', `ops.${'a'.repeat(33)}`])
      expect((await get(nextAddress(), opsPassword, user)).status, user).to.equal(401);
  });
});
