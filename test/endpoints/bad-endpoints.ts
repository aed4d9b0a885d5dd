import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { EndpointStep } from '../../lib/contract/endpoint.ts';
import { createOutbound } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { fillPort } from '../harness/full-port.ts';
import { type Site, startSite } from '../harness/site.ts';

/** A URL that fails its ping: at which step, and with which HTTP status. */
export interface BadEndpoint {
  what: string;
  url: string;
  step: EndpointStep;
  status: number | null;
  /** Its ping takes the whole 3 seconds. */
  hangs?: true;
}

const pong = JSON.stringify({ type: 'pong' });

/** What the endpoint answers on each path, with the step that fails. `/pong` is the one that passes. */
const modes: Record<string, { step: EndpointStep; status: number | null; hangs?: true; by: (response: ServerResponse) => void }> = {};
const addMode = (name: string, step: EndpointStep, status: number | null, by: (response: ServerResponse) => void, hangs?: true): void => {
  modes[`/${name}`] = { step, status, by, ...(hangs ? { hangs } : {}) };
};
for (const [name, body] of Object.entries({
  empty: '',
  'bad-json': '{"type":"pong"',
  object: '{}',
  ping: '{"type":"ping"}',
  'pong-as-a-word': 'pong',
  'pong-as-text': '"pong"',
  'pong-in-a-list': '[{"type":"pong"}]',
  'pong-as-a-list': '{"type":["pong"]}',
  'Pong-in-capitals': '{"type":"PONG"}',
  null: 'null',
  'no-utf-8': Buffer.from('7b2274797065223a22706f6e67222c2261223a22ff227d', 'hex'),
  'too-deep': `{"type":"pong","a":${'['.repeat(40)}${']'.repeat(40)}}`,
  '300-KB': pong + ' '.repeat(300 * 1024),
}))
  addMode(name, 'body', 200, (response) => response.end(body));
for (const status of [201, 202, 204, 205, 304, 400, 401, 404, 410, 429, 500, 503])
  addMode(`answers-${status}`, 'status', status, (response) =>
    response.writeHead(status).end(status === 204 || status === 304 ? '' : pong),
  );
for (const status of [301, 302, 303, 307, 308])
  addMode(`redirects-by-${status}`, 'status', status, (response) => response.writeHead(status, { location: '/pong' }).end());
addMode('redirects-to-a-private-address', 'status', 302, (response) =>
  response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
);
addMode('500-with-300-KB', 'status', 500, (response) => response.writeHead(500).end('x'.repeat(300 * 1024)));
addMode('500-that-never-ends', 'status', 500, (response) => response.writeHead(500).write('x'));
addMode('gzip-of-no-pong', 'body', 200, (response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('{}')));
addMode('cut-before-the-answer', 'status', null, (response) => response.destroy());
addMode('cut-in-the-body', 'body', 200, (response) => {
  response.writeHead(200, { 'content-length': '100' }).write('{');
  setImmediate(() => response.destroy());
});
addMode('headers-that-never-come', 'status', null, () => undefined, true);
addMode('a-body-that-never-ends', 'body', 200, (response) => void response.write('{"type":'), true);

const closedPort = async (): Promise<number> => {
  const site = await startSite(() => undefined);
  await site.close();
  return site.port;
};

/** URLs that are refused before any network request. */
const badUrls = (port: number): string[] => [
  '',
  ' ',
  'no url',
  '/interactions',
  '//bot.example/interactions',
  'bot.example',
  'https://',
  'https://[',
  'ftp://bot.example/',
  'ws://bot.example/',
  'javascript:alert(1)',
  'data:application/json,{"type":"pong"}',
  'file:///etc/passwd',
  'http://bot.example/',
  `https://user:pass@bot.example:${port}/pong`,
  `https://user@bot.example:${port}/pong`,
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '0.0.0.0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '[fd00::1]',
    '[fe80::1]',
    '[64:ff9b::7f00:1]',
  ].map((host) => `https://${host}:${port}/pong`),
];

/** Starts endpoints on loopback, one for each way to fail and one that passes. */
export async function startBadEndpoints() {
  const certificates = {
    'bot.example': await makeCertificate(['bot.example']),
    'expired.example': await makeCertificate(['expired.example'], -1),
    'other.example': await makeCertificate(['another.example']),
    'self-signed.example': await makeCertificate(['self-signed.example']),
  };
  const sites: Site[] = [];
  const at = async (name: keyof typeof certificates | null): Promise<number> => {
    const site = await startSite(
      (request, response) => {
        const { by } = modes[request.url ?? ''] ?? {};
        request.resume().on('end', () => (by ? by(response) : response.end(pong)));
      },
      name ? certificates[name] : undefined,
    );
    sites.push(site);
    return site.port;
  };
  const main = await at('bot.example');
  const plain = await at(null);
  const forbidden = await startSite((_request, response) => response.end(pong), certificates['bot.example']);
  const [full, closed] = [await fillPort(), await closedPort()];
  const mute: Server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const hosts: [host: string, port: number, step: EndpointStep, what: string, hangs?: true][] = [
    ['refused.example', closed, 'connect', 'a port that refuses'],
    ['full.example', full.port, 'connect', 'a host that hangs at connect', true],
    ['plain.example', plain, 'tls', 'https on a port without TLS'],
    ['mute.example', (mute.address() as AddressInfo).port, 'tls', 'a host that hangs at TLS', true],
    ['expired.example', await at('expired.example'), 'tls', 'an expired certificate'],
    ['self-signed.example', await at('self-signed.example'), 'tls', 'a self-signed certificate'],
    ['other.example', await at('other.example'), 'tls', 'a certificate of another name'],
  ];
  const bad: BadEndpoint[] = [
    ...badUrls(forbidden.port).map((url): BadEndpoint => ({ what: `the URL ${JSON.stringify(url)}`, url, step: 'url', status: null })),
    ...['inside.example', 'localhost', 'mixed.example', 'unknown.example'].map(
      (host): BadEndpoint => ({ what: host, url: `https://${host}:${forbidden.port}/pong`, step: 'dns', status: null }),
    ),
    { what: 'a name whose lookup never ends', url: 'https://slow.example/', step: 'dns', status: null, hangs: true },
    ...hosts.map(([host, port, step, what, hangs]): BadEndpoint => {
      return { what, url: `https://${host}:${port}/pong`, step, status: null, ...(hangs ? { hangs } : {}) };
    }),
    { what: 'plain http on a TLS port', url: `http://bot.example:${main}/pong`, step: 'status', status: null },
    ...Object.entries(modes).map(([path, { by: _by, ...rest }]): BadEndpoint => {
      return { what: path.slice(1).replaceAll('-', ' '), url: `https://bot.example:${main}${path}`, ...rest };
    }),
  ];
  const loopback = ['inside.example', 'localhost', 'bot.example', ...hosts.map(([host]) => host)];
  const outbound = createOutbound({
    allow: [`bot.example:${main}`, ...hosts.map(([host, port]) => `${host}:${port}`)],
    resolve: (host) => {
      if (host === 'slow.example') return new Promise(() => undefined);
      if (host === 'mixed.example') return Promise.resolve(['93.184.215.14', '127.0.0.1']);
      return Promise.resolve(loopback.includes(host) ? ['127.0.0.1'] : []);
    },
    ca: ['bot.example', 'expired.example', 'other.example'].map((name) => certificates[name as keyof typeof certificates].cert).join(''),
  });
  return {
    /** The real client, with DNS names and a certificate authority of the test. */
    outbound,
    /** The URL that passes. */
    good: `https://bot.example:${main}/pong`,
    bad,
    /** How many connections reached the site that no ping may reach. */
    forbiddenConnections: () => forbidden.opened(),
    async close(): Promise<void> {
      full.close();
      mute.close();
      await Promise.all([...sites, forbidden].map((site) => site.close()));
    },
  };
}
