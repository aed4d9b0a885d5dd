import { type Permission, permissionBits } from '../../../lib/base/permissions.ts';

/** One kind of caller in the matrix: everything about a caller that a rule depends on (docs/behavior/requests.md#visibility). */
export interface Role {
  readonly name: string;
  /** null: without a valid credential. */
  readonly account: 'person' | 'bot' | null;
  /** Whether it is a member of the stage's server. */
  readonly inside: boolean;
  readonly owner: boolean;
  /** What it may do in that server, `@everyone` holding nothing. The owner's and Administrator's are all. */
  readonly holds: readonly Permission[];
  /** What the stage's application is to it. */
  readonly application: 'owner' | 'bot' | null;
}

const all = Object.keys(permissionBits) as Permission[];
const plain = { account: null, inside: false, owner: false, holds: [], application: null } as const;
const person = { ...plain, account: 'person' } as const;
const member = { ...person, inside: true } as const;
const singles = all.filter((name) => name !== 'View Channel' && name !== 'Administrator');

/**
 * Every role of the matrix. Without View Channel nothing else counts in a channel, so whoever holds one single permission can view as well; `all but View
 * Channel` and `none` show what happens without.
 */
export const roles: readonly Role[] = [
  { ...member, name: 'owner', owner: true, holds: all },
  { ...member, name: 'Administrator', holds: all },
  { ...member, name: 'View Channel', holds: ['View Channel'] },
  ...singles.map((name): Role => ({ ...member, name, holds: ['View Channel', name] })),
  { ...member, name: 'all but View Channel', holds: singles },
  { ...member, name: 'none' },
  { ...person, name: 'outsider' },
  { ...member, name: 'the application’s owner', application: 'owner' },
  { ...plain, name: 'the application’s bot', account: 'bot', inside: true, holds: all, application: 'bot' },
  { ...plain, name: 'another bot', account: 'bot', inside: true },
  { ...plain, name: 'no credential' },
  { ...plain, name: 'an unknown token' },
  { ...plain, name: 'a bot’s token as a person’s' },
];

/** Why a role is refused: `403 missing_permission: Manage Roles`; null when this rule lets it pass. */
export type Rule = (role: Role) => string | null;

const loggedIn: Rule = ({ account }) => (account === null ? '401 unauthorized' : null);
const people: Rule = ({ account }) => (account === 'bot' ? '403 bots_not_allowed' : null);
const inside: Rule = (role) => (role.inside ? null : '404 not_found');

/** Needs each of these permissions in the stage's server. */
export const needs =
  (...permissions: Permission[]): Rule =>
  ({ holds }) => {
    const missing = permissions.filter((one) => !holds.includes(one));
    return missing.length ? `403 missing_permission: ${missing.join(', ')}` : null;
  };

/** Refuses whoever comes so far. */
export const refuseAll =
  (refusal: string): Rule =>
  () =>
    refusal;

/** Refuses all but the server's owner. */
export const ownerOnly =
  (refusal: string): Rule =>
  ({ owner }) =>
    owner ? null : refusal;

/** Refuses the server's owner. */
export const notTheOwner =
  (refusal: string): Rule =>
  ({ owner }) =>
    owner ? refusal : null;

/** Refuses who is not in the stage's server, where its id stands in a body or is no secret. */
export const memberOr =
  (refusal: string): Rule =>
  (role) =>
    role.inside ? null : refusal;

/** Refuses all but the application's owner, and its bot where `bot` says so. */
export const ownsApplication =
  (bot: boolean): Rule =>
  ({ application }) =>
    application === 'owner' || (bot && application === 'bot') ? null : '403 not_owner';

/** The usual ways in; the first rule that refuses is what a role is told. */
export const anyone: readonly Rule[] = [];
export const account: readonly Rule[] = [loggedIn];
export const peopleOnly: readonly Rule[] = [loggedIn, people];
export const members: readonly Rule[] = [loggedIn, inside];
/** Who can view the stage's channels. */
export const viewers: readonly Rule[] = [...members, needs('View Channel')];
/** People who can view the stage's channels. */
export const viewingPeople: readonly Rule[] = [...peopleOnly, inside, needs('View Channel')];
