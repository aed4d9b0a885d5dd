import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';
import { catalogue, type ErrorCode, Refusal, refuse } from '../../lib/base/errors.ts';

/** All codes of docs/behavior/requests.md#error-codes with their status. Codes of features that do not exist yet are `pending`. */
const documented = {
  implemented: {
    invalid_request: 400,
    too_many_reactions: 400,
    too_many_pins: 400,
    too_many_webhooks: 400,
    too_many_followers: 400,
    already_crossposted: 400,
    thread_exists: 400,
    too_many_servers: 400,
    too_many_channels: 400,
    too_many_overwrites: 400,
    too_many_roles: 400,
    too_many_applications: 400,
    too_many_invites: 400,
    not_answered: 400,
    storage_full: 400,
    endpoint_unverified: 400,
    not_public: 400,
    team_server: 400,
    invalid_options: 400,
    owns_servers: 400,
    unauthorized: 401,
    two_factor_required: 401,
    two_factor_invalid: 401,
    account_suspended: 403,
    registration_closed: 403,
    invite_required: 403,
    server_creation_restricted: 403,
    missing_permission: 403,
    not_author: 403,
    no_shared_server: 403,
    role_hierarchy: 403,
    bots_not_allowed: 403,
    not_owner: 403,
    banned: 403,
    invites_paused: 403,
    not_found: 404,
    method_not_allowed: 405,
    already_answered: 409,
    bot_offline: 409,
    already_linked: 409,
    username_taken: 409,
    idempotency_conflict: 409,
    secret_unreadable: 409,
    interaction_expired: 410,
    payload_too_large: 413,
    unsupported_media_type: 415,
    body_too_slow: 408,
    rate_limited: 429,
    two_factor_locked: 429,
    images_waiting: 429,
    exported_recently: 429,
    slowmode: 429,
    unavailable: 503,
  },
  pending: {},
} as const;

/** Codes that are in the catalogue but not yet used. */
const unused: readonly ErrorCode[] = [];

const codes = Object.keys(catalogue) as ErrorCode[];
const placeholdersOf = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

describe('error catalogue', () => {
  it('has every documented code with its status, and no other', () => {
    const statuses = Object.fromEntries(codes.map((code) => [code, catalogue[code].status]));
    expect(statuses).to.deep.equal(documented.implemented);
  });

  it('has no pending code', () => {
    for (const code of Object.keys(documented.pending)) expect(catalogue).not.to.have.property(code);
  });

  it('marks exactly the codes of the specification as from: spec', () => {
    const marked = codes.filter((code) => catalogue[code].from === 'spec');
    expect(marked).to.have.members([
      'already_answered',
      'interaction_expired',
      'banned',
      'invites_paused',
      'too_many_servers',
      'not_public',
      'team_server',
    ]);
  });

  for (const code of codes)
    it(`${code} has a sentence whose placeholders are filled`, () => {
      const { text, status } = catalogue[code];
      expect(code).to.match(/^[a-z]+(_[a-z]+)*$/);
      expect(text).to.match(/^([A-Z].*|\{\w+\})\.$/);
      expect(text.replace(/\{\w+\}/g, '')).not.to.match(/[{}]/);
      const fill = Object.fromEntries(placeholdersOf(text).map((name) => [name, `<${name}>`]));
      const refusal = (() => {
        try {
          return (refuse as (code: ErrorCode, fill: object) => never)(code, fill);
        } catch (error) {
          return error;
        }
      })();
      expect(refusal).to.be.instanceOf(Refusal).and.include({ code, status });
      const { message } = refusal as Refusal;
      expect(message).not.to.match(/[{}]|undefined/);
      for (const name of placeholdersOf(text)) expect(message).to.contain(`<${name}>`);
    });

  it('every route lists error codes of the catalogue, each once', () => {
    for (const { method, path, errors } of routes) {
      expect(codes, `${method} ${path}`).to.include.members([...errors]);
      expect(new Set(errors).size, `${method} ${path}`).to.equal(errors.length);
    }
  });

  it('every code is used', () => {
    const sources = ['lib', 'apps/api', 'workers']
      .flatMap((top) => readdirSync(top, { recursive: true, encoding: 'utf8' }).map((file) => join(top, file.replaceAll('\\', '/'))))
      .filter((file) => file.endsWith('.ts') && file !== 'lib/base/errors.ts')
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const thrown = (code: string): boolean => new RegExp(`(?:refuse|Refusal)\\(\\s*'${code}'`).test(sources);
    const viaField = (code: string): boolean => code === 'invalid_request' && sources.includes('refuseField(');
    expect(codes.filter((code) => !thrown(code) && !viaField(code))).to.have.members([...unused]);
  });
});
