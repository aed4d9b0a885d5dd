import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { makeCertificate } from '../harness/certificate.ts';
import { type Peer, type Site, startPeer, startSite } from '../harness/site.ts';

const certificate = await makeCertificate(['127.0.0.1']);

/** A script that requests each URL of its arguments and prints the results. It runs as a separate process because some of these variables are read only at its start. */
const child = `
  import { createOutbound } from './lib/outbound/request.ts';
  const urls = process.argv.slice(1);
  const outbound = createOutbound({ allow: urls.map((url) => new URL(url).host), ca: process.env.TEST_CA });
  const results = [];
  for (const url of urls) results.push(await outbound({ url, timeoutMs: 10_000, maxBytes: 1_000 }));
  console.log(JSON.stringify(results.map(({ status, reason }) => status ?? reason)));
`;

describe('outbound: proxies in the environment', () => {
  let proxy: Peer;
  let plain: Site;
  let secure: Site;
  before(async () => {
    proxy = await startPeer((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    plain = await startSite((_request, response) => response.end());
    secure = await startSite((_request, response) => response.end(), certificate);
  });
  after(() => Promise.all([proxy, plain, secure].map((one) => one.close())));

  const run = async (variables: Record<string, string>): Promise<unknown> => {
    const { PATH } = process.env;
    const node = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', child, plain.url, secure.url], {
      env: { PATH, TEST_CA: certificate.cert, ...variables },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(await text(node.stdout));
  };

  it('ignores every proxy variable', async () => {
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'npm_config_proxy', 'npm_config_https_proxy', 'GLOBAL_AGENT_HTTP_PROXY'];
    const at = `http://${proxy.pair}`;
    const variables = Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, at]));
    expect(await run({ ...variables, NODE_USE_ENV_PROXY: '1' })).to.deep.equal([200, 200]);
    expect([proxy.opened(), plain.opened(), secure.opened()]).to.deep.equal([0, 1, 1]);
  });
});
