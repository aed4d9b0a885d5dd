import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { Member } from '../../../lib/contract/server.ts';
import type { Author, SeenStatus } from '../../../lib/contract/user.ts';
import { call, path, query } from '../api/call.ts';

/** The public profile of an account, from any source: a member list, a message, a DM. */
export type Face = Author;
/** The presence of an account as others see it. */
export interface Presence {
  status: SeenStatus;
  customStatus: string | null;
}

// Large maps that change often. They are changed in place; the signal `changes` counts the changes and notifies readers.
const faces = new Map<string, Face>();
const presences = new Map<string, Presence>();
const membersByServer = new Map<string, Map<string, Member>>();
const changes = signal(0);
let told = false;
/** Accounts whose presence the gateway sends. A presence from the gateway is newer than one from a list. */
let received: ReadonlySet<string> = new Set();

/** Sets the accounts whose presence the gateway sends from now on. */
export function setReceived(userIds: readonly string[]): void {
  received = new Set(userIds);
}

/** Notifies readers that something changed, at most once every 50 ms. */
function changed(): void {
  if (told) return;
  told = true;
  setTimeout(() => {
    told = false;
    changes.value++;
  }, 50);
}

/** Returns the public profile of an account; undefined when it is not known. */
export function faceOf(userId: string): Face | undefined {
  void changes.value;
  return faces.get(userId);
}

/** Returns the display name of an account, or `unknown` while it is not known. */
export const nameOf = (userId: string): string => faceOf(userId)?.displayName ?? 'unknown';

/** Returns the presence of an account; undefined when it is not known. */
export function presenceOf(userId: string): Presence | undefined {
  void changes.value;
  return presences.get(userId);
}

/** Returns the loaded members of a server, in no order; undefined until some are loaded. */
export function membersOf(serverId: string): ReadonlyMap<string, Member> | undefined {
  void changes.value;
  return membersByServer.get(serverId);
}

const faceParts = ['username', 'displayName', 'avatarUrl', 'tag'] as const;

/** Stores a public profile; a newer one replaces the older. */
export function putFace(face: Face): void {
  const known = faces.get(face.id);
  const next = { ...known, ...face };
  if (known && faceParts.every((part) => known[part] === next[part])) return;
  faces.set(face.id, next);
  changed();
}

/** Replaces the public profile of an account, in every member list too. */
export function putUser(user: Face): void {
  faces.set(user.id, user);
  const { tag: _tag, ...face } = user;
  for (const members of membersByServer.values()) {
    const member = members.get(user.id);
    if (member) members.set(user.id, { ...member, user: { ...member.user, ...face } });
  }
  changed();
}

/** Stores the presence of an account, in every member list too. */
export function putPresence(userId: string, presence: Presence): void {
  presences.set(userId, presence);
  for (const members of membersByServer.values()) {
    const member = members.get(userId);
    if (member) members.set(userId, { ...member, ...presence });
  }
  changed();
}

/** Stores a presence from a list, unless the gateway sends the presence of that account. Returns the presence that applies. */
export function putListedPresence(userId: string, listed: Presence): Presence {
  const known = received.has(userId) ? presences.get(userId) : undefined;
  const { status, customStatus } = known ?? listed;
  if (!known) presences.set(userId, { status, customStatus });
  return { status, customStatus };
}

/** Adds or replaces a member. Does nothing to a member list that is not loaded. */
export function putMember(serverId: string, member: Member): void {
  putFace(member.user);
  const presence = putListedPresence(member.user.id, member);
  membersByServer.get(serverId)?.set(member.user.id, { ...member, ...presence });
  changed();
}

/** Removes a member. */
export function dropMember(serverId: string, userId: string): void {
  membersByServer.get(serverId)?.delete(userId);
  changed();
}

/** Removes a deleted role from every member of a server. */
export function takeRole(serverId: string, roleId: string): void {
  for (const [id, member] of membersByServer.get(serverId) ?? [])
    if (member.roles.includes(roleId))
      membersByServer.get(serverId)?.set(id, { ...member, roles: member.roles.filter((one) => one !== roleId) });
  changed();
}

/** The user id after which the next page of a server's members begins; null when all are loaded. */
const nextByServer = new Map<string, string | null>();
const loading = new Map<string, Promise<void>>();

/** Loads one page of members. Calls for the same server during a request share it. Throws `ApiError`. */
function loadPage(serverId: string, after: string | null): Promise<void> {
  const running = loading.get(serverId);
  if (running) return running;
  const limit = limits.membersListed;
  const reading = call<Member[]>('GET', path`/api/servers/${serverId}/members` + query({ limit, after: after ?? undefined }))
    .then((list) => {
      if (after === null) membersByServer.set(serverId, new Map());
      for (const member of list) putMember(serverId, member);
      nextByServer.set(serverId, list.length === limit ? (list.at(-1)?.user.id ?? null) : null);
    })
    .finally(() => loading.delete(serverId));
  loading.set(serverId, reading);
  return reading;
}

/** Loads the first 1,000 members of a server. With `again`, also when they are already loaded. Throws `ApiError`. */
export async function loadMembers(serverId: string, again = false): Promise<void> {
  if (!membersByServer.has(serverId) || again) await loadPage(serverId, null);
}

/** Whether a server has members that are not loaded yet. */
export function hasMoreMembers(serverId: string): boolean {
  void changes.value;
  return (nextByServer.get(serverId) ?? null) !== null;
}

/** Loads the next 1,000 members of a server, if there are more. Throws `ApiError`. */
export async function loadMoreMembers(serverId: string): Promise<void> {
  const next = nextByServer.get(serverId) ?? null;
  if (next !== null) await loadPage(serverId, next);
}

/** Finds the members whose username or display name begins with `text`, and adds them to the loaded ones. Throws `ApiError`. */
export async function findMembers(serverId: string, text: string, stop?: AbortSignal): Promise<Member[]> {
  const found = await call<Member[]>(
    'GET',
    path`/api/servers/${serverId}/members` + query({ query: text }),
    undefined,
    stop ? { signal: stop } : {},
  );
  for (const member of found) putMember(serverId, member);
  return found;
}

/** Returns the member with exactly this username; undefined when there is none. Throws `ApiError`. */
export async function findByUsername(serverId: string, username: string): Promise<Member | undefined> {
  await loadMembers(serverId);
  const hasName = ({ user }: Member): boolean => user.username === username;
  const known = [...(membersByServer.get(serverId)?.values() ?? [])].find(hasName);
  if (known || username === '' || !hasMoreMembers(serverId)) return known;
  return (await findMembers(serverId, username)).find(hasName);
}

const asked = new Set<string>();
let asking: Promise<unknown> = Promise.resolve();

/** Loads one member of a server whose list is not fully loaded. Each member is requested once, and one request runs at a time. A failed request is ignored. */
export async function needMember(serverId: string, userId: string): Promise<void> {
  await loadMembers(serverId);
  const key = `${serverId}:${userId}`;
  if (asked.has(key) || nextByServer.get(serverId) === null || membersByServer.get(serverId)?.has(userId)) return;
  asked.add(key);
  asking = asking
    .then(() => call<Member>('GET', path`/api/servers/${serverId}/members/${userId}`))
    .then((member) => putMember(serverId, member))
    .catch(() => undefined);
}

/** The servers whose members are loaded. They are loaded again after events may have been missed. */
export const knownMemberLists = (): string[] => [...membersByServer.keys()];

/** Drops the members of a server that the user left. */
export function dropMembers(serverId: string): void {
  membersByServer.delete(serverId);
  nextByServer.delete(serverId);
}
