import { signal } from '@preact/signals';
import type { Member } from '../../../lib/contract/server.ts';
import type { Author, SeenStatus } from '../../../lib/contract/user.ts';
import { call, path } from '../api/call.ts';

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

/** The members of a server, in no order; undefined until they were read. */
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

/** Takes in a member: a new one, or one as they stand now. A list that was not read yet stays unread. */
export function putMember(serverId: string, member: Member): void {
  putFace(member.user);
  presences.set(member.user.id, { status: member.status, customStatus: member.customStatus });
  membersByServer.get(serverId)?.set(member.user.id, member);
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

const loading = new Map<string, Promise<void>>();

/** Reads the members of a server, once at a time; `again` also when they were read before. Throws `ApiError`. */
export async function loadMembers(serverId: string, again = false): Promise<void> {
  if (membersByServer.has(serverId) && !again) return;
  const running = loading.get(serverId);
  if (running) return running;
  const reading = call<Member[]>('GET', path`/api/servers/${serverId}/members`)
    .then((list) => {
      membersByServer.set(serverId, new Map(list.map((member) => [member.user.id, member])));
      for (const member of list) putMember(serverId, member);
    })
    .finally(() => loading.delete(serverId));
  loading.set(serverId, reading);
  return reading;
}

/** The servers whose members were read: after a gap they are read again. */
export const knownMemberLists = (): string[] => [...membersByServer.keys()];

/** Forgets the members of a server that the person left. */
export const dropMembers = (serverId: string): void => void membersByServer.delete(serverId);
