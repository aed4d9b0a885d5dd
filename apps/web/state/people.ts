import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Author, VisibleStatus } from '../../../lib/contract/user.ts';
import { call, path, query } from '../api/call.ts';
import { applyLoad } from './loads.ts';

/** The public profile of an account, from any source: a member list, a message, a DM. */
export type User = Author;
/** The presence of an account as others see it. */
export interface Presence {
  status: VisibleStatus;
  customStatus: string | null;
}

// Large maps that change often. They are changed in place; the signal `changes` counts the changes and notifies readers.
const users = new Map<string, User>();
const presences = new Map<string, Presence>();
const membersByServer = new Map<string, Map<string, Member>>();
const changes = signal(0);
let isNotifying = false;
/** Accounts whose presence the gateway sends. A presence from the gateway is newer than one from a list. */
let watched: ReadonlySet<string> = new Set();

/** Sets the accounts whose presence the gateway sends from now on. */
export function setWatched(userIds: readonly string[]): void {
  watched = new Set(userIds);
}

/** Notifies readers that something changed, at most once every 50 ms. */
function notifySoon(): void {
  if (isNotifying) return;
  isNotifying = true;
  setTimeout(() => {
    isNotifying = false;
    changes.value++;
  }, 50);
}

/** Returns the public profile of an account; undefined when it is not known. */
export function userOf(userId: string): User | undefined {
  void changes.value;
  return users.get(userId);
}

/** Returns the display name of an account, or `Unknown user` while it is not known. */
export const nameOf = (userId: string): string => userOf(userId)?.displayName ?? 'Unknown user';

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

const comparedFields = ['username', 'displayName', 'avatarUrl', 'tag'] as const;

/** Stores a public profile; a newer one replaces the older. */
export function mergeUser(user: User): void {
  const known = users.get(user.id);
  const next = { ...known, ...user };
  if (known && comparedFields.every((part) => known[part] === next[part])) return;
  users.set(user.id, next);
  notifySoon();
}

/** Stores the public profiles in a message: of its author, and of those that it and its reply preview mention, who may have left. */
export function mergeUsersOf({ author, mentionedUsers = [], reply }: Message): void {
  for (const user of [author, ...mentionedUsers, ...(reply?.mentionedUsers ?? [])]) mergeUser(user);
}

/** Replaces the public profile of an account, in every member list too. */
export function replaceUser(user: User): void {
  users.set(user.id, user);
  const { tag: _tag, ...withoutTag } = user;
  for (const members of membersByServer.values()) {
    const member = members.get(user.id);
    if (member) members.set(user.id, { ...member, user: { ...member.user, ...withoutTag } });
  }
  notifySoon();
}

/** Stores the presence of an account, in every member list too. */
export function putPresence(userId: string, presence: Presence): void {
  presences.set(userId, presence);
  for (const members of membersByServer.values()) {
    const member = members.get(userId);
    if (member) members.set(userId, { ...member, ...presence });
  }
  notifySoon();
}

/** Stores a presence from a list, unless the gateway sends the presence of that account. Returns the presence that applies. */
export function putListedPresence(userId: string, listed: Presence): Presence {
  const known = watched.has(userId) ? presences.get(userId) : undefined;
  const { status, customStatus } = known ?? listed;
  if (!known) presences.set(userId, { status, customStatus });
  return { status, customStatus };
}

/** Adds or replaces a member. Does nothing to a member list that is not loaded. */
export function putMember(serverId: string, member: Member): void {
  mergeUser(member.user);
  const presence = putListedPresence(member.user.id, member);
  membersByServer.get(serverId)?.set(member.user.id, { ...member, ...presence });
  notifySoon();
}

/** Removes a member. */
export function dropMember(serverId: string, userId: string): void {
  membersByServer.get(serverId)?.delete(userId);
  notifySoon();
}

/** Removes a deleted role from every member of a server. */
export function removeRoleFromMembers(serverId: string, roleId: string): void {
  for (const [id, member] of membersByServer.get(serverId) ?? [])
    if (member.roles.includes(roleId))
      membersByServer.get(serverId)?.set(id, { ...member, roles: member.roles.filter((one) => one !== roleId) });
  notifySoon();
}

/** The user id after which the next page of a server's members begins; null when all are loaded. */
const nextByServer = new Map<string, string | null>();
const pageRequests = new Map<string, Promise<void>>();

/** Loads one page of members. Calls for the same server during a request share it. Throws `ApiError`. */
function loadPage(serverId: string, after: string | null): Promise<void> {
  const pending = pageRequests.get(serverId);
  if (pending) return pending;
  const limit = limits.membersListed;
  const apply = (list: readonly Member[]): void => {
    if (after === null) membersByServer.set(serverId, new Map());
    for (const member of list) putMember(serverId, member);
    nextByServer.set(serverId, list.length === limit ? (list.at(-1)?.user.id ?? null) : null);
  };
  const read = (): Promise<Member[]> =>
    call<Member[]>('GET', path`/api/servers/${serverId}/members` + query({ limit, after: after ?? undefined }));
  const request = applyLoad(read, apply)
    .then(() => undefined)
    .finally(() => pageRequests.delete(serverId));
  pageRequests.set(serverId, request);
  return request;
}

/** Loads the first 1,000 members of a server. With `reload`, also when they are already loaded. Throws `ApiError`. */
export async function loadMembers(serverId: string, reload = false): Promise<void> {
  if (!membersByServer.has(serverId) || reload) await loadPage(serverId, null);
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
export async function findMemberByUsername(serverId: string, username: string): Promise<Member | undefined> {
  await loadMembers(serverId);
  const hasName = ({ user }: Member): boolean => user.username === username;
  const known = [...(membersByServer.get(serverId)?.values() ?? [])].find(hasName);
  if (known || username === '' || !hasMoreMembers(serverId)) return known;
  return (await findMembers(serverId, username)).find(hasName);
}

const requested = new Set<string>();
let lastRequest: Promise<unknown> = Promise.resolve();

/** Loads one member of a server whose list is not fully loaded. Each member is requested once, and one request runs at a time. A failed request is ignored. */
export async function ensureMember(serverId: string, userId: string): Promise<void> {
  await loadMembers(serverId);
  const key = `${serverId}:${userId}`;
  if (requested.has(key) || nextByServer.get(serverId) === null || membersByServer.get(serverId)?.has(userId)) return;
  requested.add(key);
  lastRequest = lastRequest
    .then(() => call<Member>('GET', path`/api/servers/${serverId}/members/${userId}`))
    .then((member) => putMember(serverId, member))
    .catch(() => undefined);
}

/** The servers whose members are loaded. They are loaded again after events may have been missed. */
export const loadedMemberLists = (): string[] => [...membersByServer.keys()];

/** Drops the members of a server that the user left. */
export function dropMembers(serverId: string): void {
  membersByServer.delete(serverId);
  nextByServer.delete(serverId);
}
