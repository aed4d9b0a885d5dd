import { signal } from '@preact/signals';
import type { Application, ApplicationPatch, NewApplication } from '../../../lib/contract/application.ts';

import type { Profile, SeenStatus } from '../../../lib/contract/user.ts';
import { ApiError, call, path } from '../api/call.ts';

/** The person's applications, oldest first; undefined until they are read. */
export const applications = signal<readonly Application[] | undefined>(undefined);

/** Tokens that were made since the page was opened, by application: they are shown until the page is left, and nowhere kept. */
export const freshTokens = signal<ReadonlyMap<string, string>>(new Map());

/** One of the person's applications; undefined when it is none of them. */
export const applicationOf = (id: string): Application | undefined => applications.value?.find((one) => one.id === id);

/** Reads the person's applications. Throws `ApiError`. */
export async function loadApplications(): Promise<void> {
  applications.value = await call<Application[]>('GET', '/api/applications');
}

/** Takes in an application as it stands now. */
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

/** Makes an application. Throws `ApiError`. */
export async function createApplication(name: string, key: string): Promise<Application> {
  const { token, ...application } = await call<NewApplication>('POST', '/api/applications', { name }, { key });
  putToken(application.id, token);
  putApplication(application);
  return application;
}

/** Changes an application. Throws `ApiError`; nothing is changed then. */
export async function changeApplication(id: string, patch: ApplicationPatch): Promise<void> {
  putApplication(await call<Application>('PATCH', path`/api/applications/${id}`, patch));
}

/** Deletes an application with its bot. Throws `ApiError`. */
export async function removeApplication(id: string): Promise<void> {
  await call('DELETE', path`/api/applications/${id}`);
  applications.value = applications.value?.filter((one) => one.id !== id);
  putToken(id, undefined);
}

/** Gives the bot a new token, which is fresh then. Throws `ApiError`. */
export async function resetToken(id: string): Promise<void> {
  const { token } = await call<{ token: string }>('POST', path`/api/applications/${id}/token`);
  putToken(id, token);
}

/** Hides a fresh token for good: the person has kept it. */
export const forgetToken = (id: string): void => putToken(id, undefined);

/** Gives the application a new signing secret. Throws `ApiError`. */
export async function rotateSecret(application: Application): Promise<void> {
  const { signingSecret } = await call<{ signingSecret: string }>('POST', path`/api/applications/${application.id}/signing-secret`);
  putApplication({ ...application, signingSecret });
}

/** A server that a bot is in. */
export type BotServer = Profile['mutualServers'][number];

/** Whether the bot is connected, and in which of the person's servers it is; null status when the two share nothing, as nobody is told then. */
export async function findBot({ bot }: Application): Promise<{ status: SeenStatus | null; servers: readonly BotServer[] }> {
  try {
    const { user, mutualServers } = await call<Profile>('GET', path`/api/users/${bot.id}/profile`);
    return { status: user.status, servers: mutualServers };
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 404) return { status: null, servers: [] };
    throw fault;
  }
}
