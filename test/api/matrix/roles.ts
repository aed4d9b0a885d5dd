import { type Permission, permissionBits } from '../../../lib/base/permissions.ts';

/** A kind of caller in the matrix: everything about a caller that the rules depend on (docs/behavior/requests.md#visibility). */
export interface Role {
  readonly name: string;
  /** null: without a valid credential. */
  readonly account: 'person' | 'bot' | null;
  /** Whether it is a member of the fixture's server. */
  readonly inside: boolean;
  readonly owner: boolean;
  /** Its permissions in that server, where `@everyone` has none: all for the owner and Administrator. */
  readonly holds: readonly Permission[];
  /** Its relation to the fixture's application. */
  readonly application: 'owner' | 'bot' | null;
}

const all = Object.keys(permissionBits) as Permission[];
const plain = { account: null, inside: false, owner: false, holds: [], application: null } as const;
const person = { ...plain, account: 'person' } as const;
const member = { ...person, inside: true } as const;
const singles = all.filter((name) => name !== 'View Channel' && name !== 'Administrator');

/**
 * Every role of the matrix. In a channel, other permissions have no effect without View Channel, so the roles with one permission also have View Channel.
 * `all but View Channel` and `none` are the roles without it.
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

/** Returns the refusal of a role, such as `403 missing_permission: Manage Roles`, or null if this rule allows it. */
export type Rule = (role: Role) => string | null;

const loggedIn: Rule = ({ account }) => (account === null ? '401 unauthorized' : null);
const people: Rule = ({ account }) => (account === 'bot' ? '403 bots_not_allowed' : null);
const inside: Rule = (role) => (role.inside ? null : '404 not_found');

/** Refuses roles without one of these permissions in the fixture's server. */
export const needs =
  (...permissions: Permission[]): Rule =>
  ({ holds }) => {
    const missing = permissions.filter((one) => !holds.includes(one));
    return missing.length ? `403 missing_permission: ${missing.join(', ')}` : null;
  };

/** Refuses all roles that the rules before allow. */
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

/** Refuses roles outside of the fixture's server with another status than 404. */
export const memberOr =
  (refusal: string): Rule =>
  (role) =>
    role.inside ? null : refusal;

/** Refuses all but the application's owner and, if `bot`, its bot. */
export const ownsApplication =
  (bot: boolean): Rule =>
  ({ application }) =>
    application === 'owner' || (bot && application === 'bot') ? null : '403 not_owner';

/** The rules that most rows begin with. The first rule that refuses a role decides its result. */
export const anyone: readonly Rule[] = [];
export const account: readonly Rule[] = [loggedIn];
export const peopleOnly: readonly Rule[] = [loggedIn, people];
export const members: readonly Rule[] = [loggedIn, inside];
/** Roles that can view the fixture's channels. */
export const viewers: readonly Rule[] = [...members, needs('View Channel')];
/** People who can view the fixture's channels. */
export const viewingPeople: readonly Rule[] = [...peopleOnly, inside, needs('View Channel')];
