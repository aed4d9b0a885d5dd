import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { expectError } from '../harness/expect-error.ts';
import { issue, useDeliveries } from './fixture.ts';

const form = (payload: string): string => `payload=${encodeURIComponent(payload)}`;
const asForm = { 'Content-Type': 'application/x-www-form-urlencoded' };
const json = JSON.stringify(issue(1));

describe('POST /api/webhooks/{webhookId}/{webhookToken}/codehost', () => {
  const { fixture, hook } = useDeliveries(100);

  describe('accepted deliveries', () => {
    it('answers 202 { accepted: true } when the event will be posted, and stores only its facts', async () => {
      const { status, body, headers } = await hook.deliver({ ...issue(7), unused: 'x'.repeat(5_000) }, { id: 'd-1' });
      expect([status, body]).to.deep.equal([202, { accepted: true }]);
      expect(headers.get('Warnings'), 'a code host chooses its fields').to.equal(null);
      const [stored] = await hook.stored();
      expect(stored).to.include({
        webhookId: hook.id,
        deliveryId: 'd-1',
        event: 'issues',
        action: 'opened',
        outcome: 'waiting',
        reason: null,
      });
      expect(JSON.stringify(stored)).to.contain('issue 7').and.not.to.contain('xxx');
    });

    it('answers 204 without a body when the event is ignored, and logs the reason', async () => {
      for (const [event, payload, reason] of [
        ['issues', { action: 'labeled' }, /labeled/],
        ['watch', { action: 'started' }, /star/],
        ['no_such_event', {}, /no_such_event/],
      ] as const) {
        const { status, body } = await hook.deliver(payload, { event });
        expect([status, body]).to.deep.equal([204, undefined]);
        const [last] = await hook.log();
        expect(last).to.include({ event, outcome: 'ignored' });
        expect(last?.reason).to.match(reason);
      }
      const { posts, deliveryPosts } = (await fixture.api.platform.db.webhooks.findOne({ _id: hook.id })) ?? {};
      expect([posts, deliveryPosts], 'uses no slot').to.deep.equal([[], []]);
    });

    it('answers 204 to 300 ignored ones at once, stores only some of them, and does not affect other webhooks', async () => {
      const other = await fixture.createHook();
      const answers = await Promise.all(Array.from({ length: 300 }, () => hook.deliver({}, { event: 'watch' })));
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([204]));
      expect((await hook.stored()).length).to.be.within(limits.deliveriesIgnoredBurst, limits.deliveriesIgnoredBurst + 60);
      await other.deliver({}, { event: 'watch' });
      expect(await other.stored()).to.have.length(1);
      await hook.deliverIssues(1, 1);
    });

    for (const Authorization of ['Bot nothing', 'Basic eDp5', 'nonsense', '   '])
      it(`ignores the Authorization header ${JSON.stringify(Authorization)}`, async () =>
        expect((await hook.deliver(issue(1), { headers: { Authorization } })).status).to.equal(202));

    for (const [what, body, headers] of [
      ['a form', form(json), asForm],
      ['a form with other fields around it', `a=1&${form(json)}&payload=second`, asForm],
      ['a form with + for spaces', form(json).replaceAll('%20', '+'), asForm],
      ['a form with a charset', form(json), { 'Content-Type': `${asForm['Content-Type']}; charset=utf-8` }],
      ['JSON with a charset', json, { 'Content-Type': 'application/json; charset=utf-8' }],
      ['JSON after a byte order mark', `\ufeff${json}`, {}],
      ['JSON in white space', `\n ${json}\n`, {}],
    ] as const)
      it(`accepts ${what}`, async () => {
        expect((await hook.deliver(body, { headers })).status).to.equal(202);
        await hook.runJob();
        expect(await hook.titles()).to.deep.equal(['#1 issue 1']);
      });

    const sendEncoded = (body: Buffer, encoding: string): Promise<number> =>
      fetch(fixture.api.url + hook.path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Encoding': encoding, 'X-GitHub-Event': 'issues' },
        body: new Uint8Array(body),
      }).then(({ status }) => status);
    it('accepts gzip and deflate; answers 413 when the body inflates too much and 400 to an unknown or broken encoding', async () => {
      expect(await sendEncoded(gzipSync(json), 'gzip')).to.equal(202);
      expect(await sendEncoded(deflateSync(json), 'deflate')).to.equal(202);
      expect(await sendEncoded(gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), 'gzip')).to.equal(413);
      expect(await sendEncoded(gzipSync(randomBytes(100_000)).subarray(0, 50_000), 'gzip')).to.equal(400);
      expect(await sendEncoded(Buffer.from(json), 'gzip')).to.equal(400);
      expect(await sendEncoded(gzipSync(Buffer.from(json.replace('{', '{"a":"ü",'), 'latin1')), 'gzip'), 'text in Latin-1').to.equal(400);
      expect(await sendEncoded(Buffer.from(json), 'rot13')).to.equal(400);
    });

    const bodyOf = (bytes: number): string => {
      const body = (filler: string): string => JSON.stringify({ ...issue(1), filler });
      return body('y'.repeat(bytes - body('').length));
    };
    it('accepts exactly 5 MiB; answers 413 to one byte more, with a length and in chunks', async () => {
      expect((await hook.deliver(bodyOf(limits.deliveryBytes))).status).to.equal(202);
      const large = bodyOf(limits.deliveryBytes + 1);
      expectError(await hook.deliver(large), 413, 'payload_too_large');
      const headers = { 'X-GitHub-Event': 'issues', 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const sent = request(fixture.api.url + hook.path, { method: 'POST', headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.on('error', reject);
        for (let at = 0; at < large.length; at += 65_536) sent.write(large.slice(at, at + 65_536));
        sent.end();
      });
      expect(status).to.equal(413);
    });

    it('accepts a payload nested a million deep, a field __proto__ and a form of a million fields', async () => {
      const deep = `{"deep":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)},${json.slice(1)}`;
      expect((await hook.deliver(deep)).status).to.equal(202);
      expect((await hook.deliver(`{"__proto__":{"a":1},"constructor":1,${json.slice(1)}`)).status).to.equal(202);
      expect((await hook.deliver(`${'a&'.repeat(1_000_000)}${form(json)}`, { headers: asForm })).status).to.equal(202);
      expect(({} as Record<string, unknown>).a).to.equal(undefined);
    });
  });

  describe('refused deliveries', () => {
    const refusals: [what: string, body: unknown, status: number, code: string, sending?: object][] = [
      ['broken JSON', '{"action":', 400, 'invalid_request'],
      ['two values', '{} {}', 400, 'invalid_request'],
      ['a form with percent-encoded Latin-1', 'payload=%7B%22ref%22%3A%22gr%FCn%22%7D', 400, 'invalid_request', { headers: asForm }],
      ['nothing but white space', '  ', 400, 'invalid_request'],
      ['an empty body', '', 400, 'invalid_request'],
      ['no body', undefined, 400, 'invalid_request', { headers: { 'Content-Type': 'application/json' } }],
      ['no body and no content type', undefined, 400, 'invalid_request'],
      ['a form without payload', 'a=1&xpayload=%7B%7D', 400, 'invalid_request', { headers: asForm }],
      ['a form with an empty payload', 'payload=&a=1', 400, 'invalid_request', { headers: asForm }],
      ['a form with a broken payload', 'payload=%7B', 400, 'invalid_request', { headers: asForm }],
      ['a delivery without an event', json, 400, 'invalid_request', { event: '' }],
      ['a delivery with an empty event', json, 400, 'invalid_request', { event: '', headers: { 'X-GitHub-Event': '  ' } }],
      ['plain text', json, 415, 'unsupported_media_type', { headers: { 'Content-Type': 'text/plain' } }],
      ['multipart data', json, 415, 'unsupported_media_type', { headers: { 'Content-Type': 'multipart/form-data; boundary=x' } }],
      ['JSON without a content type', json, 415, 'unsupported_media_type', { headers: { 'Content-Type': '' } }],
    ];
    for (const [what, body, status, code, sending = {}] of refusals)
      it(`answers ${status} to ${what}`, async () => {
        expectError(await hook.deliver(body, sending), status, code);
        expect(await hook.stored()).to.deep.equal([]);
      });

    it('answers the same 404 to a wrong token, an unknown id and a malformed id, before it reads the body', async () => {
      const wrong = [
        `/api/webhooks/${hook.id}/${'A'.repeat(43)}`,
        `/api/webhooks/1000000000000000001/${hook.token}`,
        `/api/webhooks/x/${hook.token}`,
      ];
      const answers = await Promise.all(
        wrong.map(
          (path) =>
            new Promise<[number | undefined, string]>((resolve, reject) => {
              // The body never ends, and has no content type.
              const sent = request(
                `${fixture.api.url}${path}/codehost`,
                { method: 'POST', headers: { 'Content-Length': '500' } },
                (response) => {
                  let text = '';
                  response.on('data', (part) => {
                    text += String(part);
                  });
                  response.on('end', () => {
                    sent.destroy();
                    resolve([response.statusCode, text.replace(/"requestId":"[^"]+"/, '')]);
                  });
                },
              );
              sent.on('error', reject);
              sent.write('{');
            }),
        ),
      );
      expect(answers.map(([status]) => status)).to.deep.equal([404, 404, 404]);
      expect(new Set(answers.map(([, text]) => text)).size).to.equal(1);
    });
  });

  describe('event and delivery headers', () => {
    const hosts = ['GitHub', 'Gitea', 'Forgejo', 'Gogs'];
    it('reads those of GitHub, Gitea, Forgejo and Gogs, and uses the first of them when there are several', async () => {
      for (const [at, first] of hosts.entries()) {
        const rest = hosts.slice(at);
        const event = Object.fromEntries(rest.map((host) => [`X-${host}-Event`, host === first ? 'issues' : 'no_such_event']));
        const id = Object.fromEntries(rest.map((host) => [`X-${host}-Delivery`, `${host}-${first}`]));
        expect((await hook.deliver(issue(at), { event: '', headers: { ...event, ...id } })).status).to.equal(202);
      }
      expect((await hook.stored()).map(({ deliveryId }) => deliveryId)).to.deep.equal(hosts.map((host) => `${host}-${host}`));
    });

    it('skips an empty header and cuts a long event name', async () => {
      const { status } = await hook.deliver(issue(1), { event: '', headers: { 'X-GitHub-Event': ' ', 'X-Gogs-Event': 'issues' } });
      expect(status).to.equal(202);
      await hook.deliver({}, { event: 'e'.repeat(4_000) });
      expect((await hook.log())[0]?.event).to.equal('e'.repeat(limits.deliveryEventChars));
    });
  });
});
