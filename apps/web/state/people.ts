import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { Member } from '../../../lib/contract/server.ts';
import type { Author, SeenStatus } from '../../../lib/contract/user.ts';
import { call, path, query } from '../api/call.ts';

/** What is known of an account wherever it was met: a member list, a message, a DM. */
export type Face = Author;
/** How an account is seen now. */
export interface Presence {
  status: SeenStatus;
  customStatus: string | null;
}

// Large maps that change often: changed in place, and told of by a number that counts the changes.
const faces = new Map<string, Face>();
const presences = new Map<string, Presence>();
const membersByServer = new Map<string, Map<string, Member>>();
const changes = signal(0);
let told = false;
/** Accounts whose presence the gateway sends: what it sent is newer than what a list says. */
let received: ReadonlySet<string> = new Set();

/** Notes for which accounts the gateway sends presences from now on. */
export function setReceived(userIds: readonly string[]): void {
  received = new Set(userIds);
}

/** Tells who reads that something changed, once a frame however much did. */
function changed(): void {
  if (told) return;
  told = true;
  setTimeout(() => {
    told = false;
    changes.value++;
  }, 50);
}

/** The face of an account; undefined when it was never met. */
export function faceOf(userId: string): Face | undefined {
  void changes.value;
  return faces.get(userId);
}

/** What an account is called: its display name, or a stand-in while it is not known. */
export const nameOf = (userId: string): string => faceOf(userId)?.displayName ?? 'unknown';

/** How an account is seen now; undefined when that is not known. */
export function presenceOf(userId: string): Presence | undefined {
  void changes.value;
  return presences.get(userId);
}

/** The members of a server as far as they were read, in no order; undefined until the first were. */
export function membersOf(serverId: string): ReadonlyMap<string, Member> | undefined {
  void changes.value;
  return membersByServer.get(serverId);
}

const faceParts = ['username', 'displayName', 'avatarUrl', 'tag'] as const;

/** Notes a face: a newer one replaces the older. */
export function putFace(face: Face): void {
  const known = faces.get(face.id);
  const next = { ...known, ...face };
  if (known && faceParts.every((part) => known[part] === next[part])) return;
  faces.set(face.id, next);
  changed();
}

/** Shows an account as it is now, also in every member list. */
export function putUser(user: Face): void {
  faces.set(user.id, user);
  const { tag: _tag, ...face } = user;
  for (const members of membersByServer.values()) {
    const member = members.get(user.id);
    if (member) members.set(user.id, { ...member, user: { ...member.user, ...face } });
  }
  changed();
}

/** Notes how an account is seen now, in every list that shows it. */
export function putPresence(userId: string, presence: Presence): void {
  presences.set(userId, presence);
  for (const members of membersByServer.values()) {
    const member = members.get(userId);
    if (member) members.set(userId, { ...member, ...presence });
  }
  changed();
}

/** Notes how an account is seen as a list says: it may be older than what the gateway sent. */
export function putListedPresence(userId: string, listed: Presence): Presence {
  const known = received.has(userId) ? presences.get(userId) : undefined;
  const { status, customStatus } = known ?? listed;
  if (!known) presences.set(userId, { status, customStatus });
  return { status, customStatus };
}

/** Takes in a member: a new one, or one as they are now. A list that was not read yet stays unread. */
export function putMember(serverId: string, member: Member): void {
  putFace(member.user);
  const presence = putListedPresence(member.user.id, member);
  membersByServer.get(serverId)?.set(member.user.id, { ...member, ...presence });
  changed();
}

/** Forgets a member who is gone. */
export function dropMember(serverId: string, userId: string): void {
  membersByServer.get(serverId)?.delete(userId);
  changed();
}

/** Takes a role from every member of a list: it was deleted. */
export function takeRole(serverId: string, roleId: string): void {
  for (const [id, member] of membersByServer.get(serverId) ?? [])
    if (member.roles.includes(roleId))
      membersByServer.get(serverId)?.set(id, { ...member, roles: member.roles.filter((one) => one !== roleId) });
  changed();
}

/** The user id that the next page of a server's members comes after; null when all were read. */
const nextByServer = new Map<string, string | null>();
const loading = new Map<string, Promise<void>>();

/** Reads one page of members, once at a time for each server. Throws `ApiError`. */
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

/** Reads the first 1,000 members of a server; `again` also when they were read before. Throws `ApiError`. */
export async function loadMembers(serverId: string, again = false): Promise<void> {
  if (!membersByServer.has(serverId) || again) await loadPage(serverId, null);
}

/** Whether a server has members that were not read yet. */
export function hasMoreMembers(serverId: string): boolean {
  void changes.value;
  return (nextByServer.get(serverId) ?? null) !== null;
}

/** Reads the next 1,000 members of a server, if there are more. Throws `ApiError`. */
export async function loadMoreMembers(serverId: string): Promise<void> {
  const next = nextByServer.get(serverId) ?? null;
  if (next !== null) await loadPage(serverId, next);
}

/** The members whose username or display name begins with `text`; they join those that were read. Throws `ApiError`. */
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

/** The member with exactly this username; undefined when there is none. Throws `ApiError`. */
export async function findByUsername(serverId: string, username: string): Promise<Member | undefined> {
  await loadMembers(serverId);
  const hasName = ({ user }: Member): boolean => user.username === username;
  const known = [...(membersByServer.get(serverId)?.values() ?? [])].find(hasName);
  if (known || username === '' || !hasMoreMembers(serverId)) return known;
  return (await findMembers(serverId, username)).find(hasName);
}

const asked = new Set<string>();
let asking: Promise<unknown> = Promise.resolve();

/** Reads one member where not all were read, once and one after the other. Someone who is not in the server stays unknown. */
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

/** The servers whose members were read: after a gap they are read again. */
export const knownMemberLists = (): string[] => [...membersByServer.keys()];

/** Forgets the members of a server that the person left. */
export function dropMembers(serverId: string): void {
  membersByServer.delete(serverId);
  nextByServer.delete(serverId);
}
