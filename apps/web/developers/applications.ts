import { signal } from '@preact/signals';
import type { Application, ApplicationPatch, NewApplication } from '../../../lib/contract/application.ts';
import type { Profile, VisibleStatus } from '../../../lib/contract/user.ts';
import { ApiError, call, path } from '../api/call.ts';
import type { Create } from '../ui/use-create.ts';

/** The user's applications, oldest first; undefined until they are loaded. */
export const applications = signal<readonly Application[] | undefined>(undefined);

/** Tokens that were created since the page was opened, by application. They are shown until the page is closed, and never stored. */
export const freshTokens = signal<ReadonlyMap<string, string>>(new Map());

/** Returns one of the user's applications; undefined when there is none with this id. */
export const applicationOf = (id: string): Application | undefined => applications.value?.find((one) => one.id === id);

/** Loads the user's applications. Throws `ApiError`. */
export async function loadApplications(): Promise<void> {
  applications.value = await call<Application[]>('GET', '/api/applications');
}

/** Adds or replaces an application. */
export function putApplication(application: Application): void {
  const all = applications.value ?? [];
  applications.value = all.some(({ id }) => id === application.id)
    ? all.map((one) => (one.id === application.id ? application : one))
    : [...all, application];
}

function putToken(id: string, token: string | undefined): void {
  const next = new Map(freshTokens.value);
  if (token === undefined) next.delete(id);
  else next.set(id, token);
  freshTokens.value = next;
}

/** Creates an application. Throws `ApiError`. */
export async function createApplication(name: string, create: Create): Promise<Application> {
  const { token, ...application } = await create<NewApplication>('/api/applications', { name });
  putToken(application.id, token);
  putApplication(application);
  return application;
}

/** Changes an application. Throws `ApiError`; then nothing is changed. */
export async function changeApplication(id: string, patch: ApplicationPatch): Promise<void> {
  putApplication(await call<Application>('PATCH', path`/api/applications/${id}`, patch));
}

/** Deletes an application with its bot. Throws `ApiError`. */
export async function removeApplication(id: string): Promise<void> {
  await call('DELETE', path`/api/applications/${id}`);
  applications.value = applications.value?.filter((one) => one.id !== id);
  putToken(id, undefined);
}

/** Creates a new token for the bot, which is then shown as a fresh token. Throws `ApiError`. */
export async function resetToken(id: string): Promise<void> {
  const { token } = await call<{ token: string }>('POST', path`/api/applications/${id}/token`);
  putToken(id, token);
}

/** Removes a fresh token from the page, after the user has saved it. */
export const hideToken = (id: string): void => putToken(id, undefined);

/** Gives the application a new signing secret. Throws `ApiError`. */
export async function resetSecret(application: Application): Promise<void> {
  const { signingSecret } = await call<{ signingSecret: string }>('POST', path`/api/applications/${application.id}/signing-secret`);
  putApplication({ ...application, signingSecret });
}

/** A server that a bot is in. */
export type BotServer = Profile['mutualServers'][number];

/**
 * Returns whether the bot is connected, and which of the user's servers it is in. The status is null when the user and the bot share no server, because the
 * API then does not return it.
 */
export async function findBot({ bot }: Application): Promise<{ status: VisibleStatus | null; servers: readonly BotServer[] }> {
  try {
    const { user, mutualServers } = await call<Profile>('GET', path`/api/users/${bot.id}/profile`);
    return { status: user.status, servers: mutualServers };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { status: null, servers: [] };
    throw error;
  }
}
