import { expect } from 'chai';
import { readConfig } from '../../config/index.ts';

const required = {
  MONGODB_URL: 'mongodb://localhost/x',
  REDIS_URL: 'redis://localhost',
  APP_KEY: Buffer.alloc(32, 1).toString('base64'),
};
const read = (env: Record<string, string>) => readConfig({ ...required, ...env });

describe('settings', () => {
  for (const [env, gatewayUrl] of [
    [{}, 'ws://localhost:8081'],
    [{ GATEWAY_PORT: '9' }, 'ws://localhost:9'],
    [{ BASE_URL: 'http://localhost:8080' }, 'ws://localhost:8081'],
    [{ BASE_URL: 'http://127.0.0.1:7000', PORT: '7000' }, 'ws://localhost:8081'],
    [{ BASE_URL: 'https://chat.example.org' }, 'wss://chat.example.org/gateway'],
    [{ BASE_URL: 'https://chat.example.org/' }, 'wss://chat.example.org/gateway'],
    [{ BASE_URL: 'https://chat.example.org:8443' }, 'wss://chat.example.org:8443/gateway'],
    [{ BASE_URL: 'http://chat.example.org' }, 'ws://chat.example.org/gateway'],
    [{ BASE_URL: 'http://192.168.1.5:8080' }, 'ws://192.168.1.5:8081'],
    [{ BASE_URL: 'http://chat.lan', PORT: '80' }, 'ws://chat.lan:8081'],
    [{ BASE_URL: 'https://chat.lan', PORT: '80' }, 'wss://chat.lan/gateway'],
    [{ BASE_URL: 'https://chat.example.org', GATEWAY_URL: 'wss://gate.example.org' }, 'wss://gate.example.org'],
  ] as [Record<string, string>, string][])
    it(`${JSON.stringify(env)}: the gateway is at ${gatewayUrl}`, () => {
      expect(read(env).gatewayUrl).to.equal(gatewayUrl);
    });

  for (const [name, value, expected] of [
    ['BASE_URL', 'https://chat.example.org\n', 'https://chat.example.org'],
    ['GATEWAY_URL', 'wss://chat.example.org/gateway\r\n', 'wss://chat.example.org/gateway'],
    ['MONGODB_URL', 'mongodb://db/x\n', 'mongodb://db/x'],
    ['REDIS_URL', ' redis://cache\n', 'redis://cache'],
    ['OPS_PASSWORD', 'secret\n', 'secret'],
    ['OPS_PASSWORD', ' a b ', ' a b '],
    ['S3_BUCKET', 'files\r\n', 'files'],
    ['PORT', '80\n', 80],
    ['LOG_LEVEL', 'warn\n', 'warn'],
    ['HOST', '0.0.0.0\n', '0.0.0.0'],
    ['RATE_LIMIT', 'off\n', null],
  ] as [keyof ReturnType<typeof read>, string, unknown][])
    it(`${name}=${JSON.stringify(value)} is read as ${JSON.stringify(expected)}`, () => {
      const s3 = name === 'S3_BUCKET' ? { S3_ENDPOINT: 'https://s3', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' } : {};
      expect(read({ ...s3, [name]: value })[name]).to.deep.equal(expected);
    });

  it('a key with a line end is the same key', () => {
    expect(read({ APP_KEY: `${required.APP_KEY}\r\n` }).APP_KEY.equals(Buffer.alloc(32, 1))).to.equal(true);
  });

  for (const [name, value] of [
    ['OPS_PASSWORD', 'one\ntwo'],
    ['APP_KEY', 'AAAA\nBBBB'],
    ['BASE_URL', 'https://chat.example.org/app'],
    ['BASE_URL', 'https://chat.example.org/?x=1'],
    ['BASE_URL', 'https://user@chat.example.org'],
    ['HOST', 'myhost'],
  ] as const)
    it(`${name}=${JSON.stringify(value)} is refused by name, without the value`, () => {
      expect(() => read({ [name]: value }))
        .to.throw(Error)
        .with.property('message')
        .that.matches(new RegExp(`^Invalid configuration: ${name} `))
        .and.does.not.include(value);
    });

  it('the API listens on this machine only, unless HOST says otherwise', () => {
    expect(read({}).HOST).to.equal('127.0.0.1');
  });
});
