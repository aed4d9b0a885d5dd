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

const oidc = { OIDC_ISSUER: 'https://sso.example.org/realms/main/', OIDC_CLIENT_ID: 'parlance', OIDC_CLIENT_SECRET: 'a secret' };

/** The error of a configuration; null for a valid one. */
function errorOf(env: Record<string, string>): string | null {
  try {
    read(env);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('settings of OpenID Connect', () => {
  it('are off by default, and keep the issuer as it is written', () => {
    expect(read({})).to.include({ OIDC_ISSUER: '', OIDC_NAME: 'SSO', OIDC_ACCOUNTS: 'create' });
    expect(read(oidc).OIDC_ISSUER).to.equal(oidc.OIDC_ISSUER);
  });

  for (const name of Object.keys(oidc) as (keyof typeof oidc)[])
    it(`are refused without ${name}, naming it`, () => {
      const { [name]: _left, ...others } = oidc;
      for (const env of [others, { ...others, [name]: '' }])
        expect(errorOf(env)).to.match(new RegExp(`^Invalid configuration: ${name} must be set too: OpenID Connect needs all of`));
    });

  const bad: [what: string, env: Record<string, string>, error: RegExp][] = [
    ['an issuer that is no URL', { OIDC_ISSUER: 'sso.example.org' }, /OIDC_ISSUER must be a URL/],
    ['an issuer with a query', { OIDC_ISSUER: 'https://sso.example.org/?a=b' }, /OIDC_ISSUER must be a URL/],
    ['an issuer with a password', { OIDC_ISSUER: 'https://a:b@sso.example.org/' }, /OIDC_ISSUER must be a URL/],
    ['plain http', { OIDC_ISSUER: 'http://sso.example.org' }, /OIDC_ISSUER must be an https URL/],
    [
      'plain http at another port than that of OUTBOUND_ALLOW',
      { OIDC_ISSUER: 'http://localhost:9', OUTBOUND_ALLOW: 'localhost:8' },
      /https/,
    ],
    ['a name of spaces', { OIDC_NAME: '  ' }, /OIDC_NAME must have 1 to 32 characters/],
    ['a long name', { OIDC_NAME: 'x'.repeat(33) }, /OIDC_NAME must have 1 to 32 characters/],
    ['unknown accounts', { OIDC_ACCOUNTS: 'all' }, /OIDC_ACCOUNTS must be one of create, link/],
    ['a bad OUTBOUND_ALLOW as well', { OIDC_ISSUER: 'http://localhost:9', OUTBOUND_ALLOW: 'localhost' }, /OUTBOUND_ALLOW must be/],
  ];
  for (const [what, env, error] of bad)
    it(`refuse ${what}, without its value`, () => {
      const message = errorOf({ ...oidc, ...env });
      expect(message).to.match(error);
      expect(message).to.not.include(oidc.OIDC_CLIENT_SECRET);
    });

  it('accept plain http for a host and port of OUTBOUND_ALLOW', () => {
    expect(errorOf({ ...oidc, OIDC_ISSUER: 'http://localhost:9000', OUTBOUND_ALLOW: 'localhost:9000' })).to.equal(null);
    expect(errorOf({ ...oidc, OIDC_ISSUER: 'http://localhost/realm', OUTBOUND_ALLOW: 'localhost:80' })).to.equal(null);
  });
});
