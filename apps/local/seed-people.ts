import { randomBytes } from 'node:crypto';
import type { Session } from '../../lib/contract/auth.ts';
import { ApiError, apiClient, type Call, withRetries } from './api-client.ts';
import type { DemoPerson, Login, Notes } from './demo-notes.ts';

/** Resolves with undefined if the API responds with 401, 403 or 404. */
export async function find<T>(request: Promise<T>): Promise<T | undefined> {
  return request.catch((error: unknown) => {
    if (error instanceof ApiError && [401, 403, 404].includes(error.status)) return undefined;
    throw error;
  });
}

/** API calls as one user. */
export const callsOf = (baseUrl: string, { token }: DemoPerson): Call => withRetries(apiClient(baseUrl, `Bearer ${token}`));

/** The demo person, as stored or newly registered. If the stored one cannot log in, the file is from another database, and all of it is discarded. */
export async function ensurePerson(baseUrl: string, notes: Notes): Promise<DemoPerson> {
  const keep = (person: Login | DemoPerson): void => notes.keep({ person });
  const { person } = notes.known;
  const known = person && (await logIn(baseUrl, person, keep));
  if (known) return known;
  notes.clear();
  return register(baseUrl, { username: 'demo', displayName: 'Demo Person' }, keep);
}

/** The second user, who talks with the demo person, as stored or newly registered. */
export async function ensureGuest(baseUrl: string, notes: Notes): Promise<DemoPerson> {
  const keep = (guest: Login | DemoPerson): void => notes.keep({ guest });
  const { guest } = notes.known;
  const known = guest && (await logIn(baseUrl, guest, keep));
  return known ?? register(baseUrl, { username: 'ada', displayName: 'Ada' }, keep);
}

/** Returns `one` with a valid session; undefined if the API does not accept its name and password. */
async function logIn(baseUrl: string, one: Login | DemoPerson, keep: (person: DemoPerson) => void): Promise<DemoPerson | undefined> {
  if ('token' in one && (await find(callsOf(baseUrl, one)('GET', '/api/auth/me')))) return one;
  const { username, password } = one;
  const session = await find(withRetries(apiClient(baseUrl))<Session>('POST', '/api/auth/login', { username, password }));
  if (!session) return undefined;
  const person = { id: session.user.id, username, password, token: session.token };
  keep(person);
  return person;
}

/** Registers a user as `username`, or as `username` with a random suffix if the name is taken. */
async function register(
  baseUrl: string,
  { username, displayName }: { username: string; displayName: string },
  keep: (person: Login | DemoPerson) => void,
): Promise<DemoPerson> {
  const login = { username, password: randomBytes(12).toString('base64url') };
  // Stored before the request, so that a run interrupted after it can log in next time.
  keep(login);
  try {
    const body = { ...login, displayName };
    const { user, token } = await withRetries(apiClient(baseUrl))<Session>('POST', '/api/auth/register', body);
    const person = { id: user.id, ...login, token };
    keep(person);
    return person;
  } catch (error) {
    const isTaken = error instanceof ApiError && error.code === 'username_taken';
    if (!isTaken) throw error;
    return register(baseUrl, { username: `${username.split('_')[0]}_${randomBytes(3).toString('hex')}`, displayName }, keep);
  }
}
