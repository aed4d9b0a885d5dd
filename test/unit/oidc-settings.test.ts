import { expect } from 'chai';
import { readConfig } from '../../config/index.ts';

const required = {
  MONGODB_URL: 'mongodb://127.0.0.1:27017/parlance',
  REDIS_URL: 'redis://127.0.0.1:6379',
  APP_KEY: Buffer.alloc(32, 1).toString('base64'),
};
const oidc = { OIDC_ISSUER: 'https://sso.example.org/realms/main/', OIDC_CLIENT_ID: 'parlance', OIDC_CLIENT_SECRET: 'a secret' };

/** The error of a configuration; null for a valid one. */
function errorOf(env: Record<string, string>): string | null {
  try {
    readConfig({ ...required, ...env });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('settings of OpenID Connect', () => {
  it('are off by default, and keep the issuer as it is written', () => {
    expect(readConfig(required)).to.include({ OIDC_ISSUER: '', OIDC_NAME: 'SSO', OIDC_ACCOUNTS: 'create' });
    expect(readConfig({ ...required, ...oidc }).OIDC_ISSUER).to.equal(oidc.OIDC_ISSUER);
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
