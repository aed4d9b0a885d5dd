import { expect } from 'chai';
import { describeRefusal, type Refused } from '../../apps/web/api/error-texts.ts';
import { catalogue, type ErrorCode, newRefusal } from '../../lib/base/errors.ts';

/** Words of requests, which the users of a page have not written. */
const requestWords =
  /`|authorization|bearer|header|request body|content type|idempotency|endpoint\b|path accepts|query|\/\w+\/|19 digits|before \(/i;

/** The codes that only bots and the owners of applications get. Those know requests. */
const forDevelopers: ErrorCode[] = ['not_answered', 'already_answered', 'interaction_expired', 'endpoint_unverified', 'secret_unreadable'];

const request = (method: string, path: string, isPicture = false): Refused['request'] => ({ method, path, isPicture });
const say = (code: string, given: Partial<Refused> = {}): string => {
  const none = { message: undefined, errors: [], missing: [], request: request('POST', '/api/channels/1/messages') };
  return describeRefusal({ status: 400, code, ...none, ...given });
};

describe('texts of errors in the pages', () => {
  for (const code of (Object.keys(catalogue) as ErrorCode[]).filter((one) => !forDevelopers.includes(one)))
    it(`does not speak of requests for ${code}`, () => {
      const reason = code.startsWith('invalid_') ? 'check before (Use an id of 19 digits)' : 'This account is already linked';
      const fill = { reason, hint: 'Send `Authorization: Bot <token>`', limit: 5, what: 'channel' };
      const { message } = newRefusal(code as 'already_crossposted', fill as unknown as undefined);
      const errors = code.startsWith('invalid_') ? [{ path: '/displayName', message: 'Use at most 32 characters.' }] : [];
      const missing = code === 'missing_permission' ? ['Manage Messages'] : [];
      expect(say(code, { message, errors, missing })).to.not.match(requestWords);
    });

  const wrongFields = [
    { path: '/displayName', message: 'Use at most 32 characters.' },
    { path: '/name', message: 'This field is required.' },
  ];
  const picture = 'The request is not valid: the body is not an image of the declared content type.';
  const size = 'The files of this server may take 100 MiB, and those of a member 1 GiB and 512 KiB.';
  const cases: [what: string, said: string, text: string][] = [
    [
      'a session that has ended',
      say('unauthorized', { message: 'Missing or invalid credentials. Send `Authorization: Bot <token>`.' }),
      'You have been logged out. Log in again.',
    ],
    [
      'a wrong password',
      say('unauthorized', { message: 'Wrong username or password.', request: request('POST', '/api/auth/login') }),
      'Wrong username or password.',
    ],
    ['a size', say('storage_full', { message: size }), 'The files of this server may take 100 MB, and those of a member 1 GB and 512 kB.'],
    [
      'an id in a link',
      say('invalid_request', {
        message: 'The request is not valid: check before (Use an id of 19 digits).',
        request: request('GET', '/api/channels/1/messages?before=abc'),
      }),
      'This link or search isn’t valid.',
    ],
    [
      'fields of a form',
      say('invalid_request', { errors: wrongFields }),
      'Display name: Use at most 32 characters. Name: This field is required.',
    ],
    [
      'an action that does not apply',
      say('invalid_request', { message: 'The request is not valid: you cannot remove yourself; leave the server instead.' }),
      'You cannot remove yourself; leave the server instead.',
    ],
    [
      'an unreadable picture',
      say('invalid_request', { message: picture, request: request('PUT', '/api/users/@me/avatar', true) }),
      'This picture can’t be read. Choose a PNG, JPEG, WebP or GIF file.',
    ],
    ['an option of a command', say('invalid_options', { errors: [{ path: 'who', message: 'Choose a member.' }] }), 'who: Choose a member.'],
    ['no JSON', say('', { status: 502 }), 'Something went wrong (HTTP status 502). Try again later.'],
  ];
  for (const [what, said, text] of cases) it(`says what is wrong with ${what}`, () => expect(said).to.equal(text));
});
