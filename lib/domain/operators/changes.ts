import type { MessagesChoice } from '../../contract/account-deletion.ts';
import type { WakePlatform } from '../../store/platform.ts';
import { keepAccount, scheduleAccountDeletion } from '../accounts/deletions.ts';
import { unlinkAsOperator } from '../accounts/identities.ts';
import { createPasswordReset } from '../accounts/password-resets.ts';
import { endAllSessions } from '../accounts/sessions.ts';
import { requirePersonAccount, restoreAccount, suspendAccount } from '../accounts/suspensions.ts';
import { resetTwoFactor } from '../accounts/two-factor.ts';
import { getMessageRetention } from '../retention.ts';
import { runAudited } from './audit.ts';
import { createServerAsOperator, deleteServerAsOperator, setMessageRetention, transferServer } from './servers.ts';

/** A command of an operator that changes an account or a server, other than a grant. Ids are not checked yet. */
export type ChangeCommand =
  | { command: 'suspend'; userId: string; reason?: string }
  | { command: 'unsuspend' | 'reset-password' | 'reset-two-factor' | 'unlink-sign-in' | 'end-sessions'; userId: string }
  | { command: 'delete-account'; userId: string; messages?: MessagesChoice; now?: boolean }
  | { command: 'keep-account'; userId: string }
  | { command: 'create-server'; name: string; owner: string }
  | { command: 'transfer-server'; serverId: string; userId: string }
  | { command: 'delete-server'; serverId: string }
  | { command: 'retention'; serverId: string; days: number | 'off' | 'default' };

/** What a command has done: to what, whether it changed anything, and a sentence for people that follows the name. */
export interface ChangeOutcome {
  id: string;
  name: string;
  isChanged: boolean;
  sentence: string;
  /** A one-use link, if the command makes one. It is a secret. */
  link?: string;
  /** Further fields of the command's JSON. */
  more?: Readonly<Record<string, unknown>>;
}

const formatDays = (days: number): string => (days === 1 ? 'one day' : `${days} days`);

async function change(platform: WakePlatform, command: ChangeCommand): Promise<ChangeOutcome> {
  switch (command.command) {
    case 'suspend': {
      const { account, isChanged } = await suspendAccount(platform, command.userId, command.reason);
      const sentence = isChanged ? 'suspended. All sessions have ended.' : 'already suspended, unchanged. All sessions have ended.';
      return { id: account._id, name: account.username, isChanged, sentence };
    }
    case 'unsuspend': {
      const { account, isChanged } = await restoreAccount(platform, command.userId);
      return {
        id: account._id,
        name: account.username,
        isChanged,
        sentence: isChanged ? 'no longer suspended.' : 'not suspended, unchanged.',
      };
    }
    case 'reset-password': {
      const { _id: id, username: name } = await requirePersonAccount(platform, command.userId);
      const { code, expiresAt: date } = await createPasswordReset(platform, id);
      const link = `${platform.config.baseUrl}/reset-password#code=${code}`;
      const expiresAt = date.toISOString();
      const sentence = `this link sets a new password once, until ${expiresAt}. Give it only to this person.`;
      return { id, name, isChanged: true, sentence, link, more: { expiresAt } };
    }
    case 'reset-two-factor': {
      const { account, isChanged } = await resetTwoFactor(platform, command.userId);
      const sentence = isChanged
        ? 'two-factor authentication is off. The password alone logs in.'
        : 'has no two-factor authentication, unchanged.';
      return { id: account._id, name: account.username, isChanged, sentence };
    }
    case 'unlink-sign-in': {
      const { account, isChanged } = await unlinkAsOperator(platform, command.userId);
      const next = account.passwordHash === null ? ' The account has no password: make a link with reset-password.' : '';
      const sentence = isChanged
        ? `no account of the OpenID Connect provider logs in to it now. Sessions stay.${next}`
        : 'not linked to an account of the OpenID Connect provider, unchanged.';
      return { id: account._id, name: account.username, isChanged, sentence };
    }
    case 'end-sessions': {
      const { _id: id, username: name } = await requirePersonAccount(platform, command.userId);
      await endAllSessions(platform, id);
      return { id, name, isChanged: true, sentence: 'all sessions have ended.' };
    }
    case 'delete-account': {
      const { account, isChanged, deletion } = await scheduleAccountDeletion(platform, command.userId, command);
      const { _id: id, username: name } = account;
      const { deletesAt, messages } = deletion;
      const fate = messages === 'keep' ? 'stay and show a deleted account' : 'are deleted, too';
      const sentence = `will be deleted at ${deletesAt}${isChanged ? '' : ', unchanged'}. The messages ${fate}.`;
      return { id, name, isChanged, sentence, more: { deletesAt, messages } };
    }
    case 'keep-account': {
      const { account, isChanged } = await keepAccount(platform, command.userId);
      const sentence = isChanged ? 'will not be deleted.' : 'no deletion is scheduled, unchanged.';
      return { id: account._id, name: account.username, isChanged, sentence };
    }
    case 'create-server': {
      const created = await createServerAsOperator(platform, command.name, command.owner);
      return { ...created, sentence: created.isChanged ? 'created.' : 'the owner already has a server of this name, unchanged.' };
    }
    case 'transfer-server': {
      const moved = await transferServer(platform, command.serverId, command.userId);
      return { ...moved, sentence: moved.isChanged ? `owned by ${command.userId} now.` : `already owned by ${command.userId}, unchanged.` };
    }
    case 'retention': {
      const days = command.days === 'off' ? 0 : command.days === 'default' ? null : command.days;
      const set = await setMessageRetention(platform, command.serverId, days);
      const effective = getMessageRetention(platform.config, days === null ? {} : { messageRetentionDays: days });
      const sentence = effective === null ? 'messages are kept.' : `messages are deleted after ${formatDays(effective)}.`;
      return { ...set, sentence: set.isChanged ? sentence : `unchanged: ${sentence}`, more: { messageRetentionDays: effective } };
    }
    case 'delete-server':
      return { ...(await deleteServerAsOperator(platform, command.serverId)), sentence: 'deleted.' };
  }
}

/**
 * Changes an account or a server for `operator`, with an entry in the operators' audit log: the command line and the pages of ops both call this. Rejects with a
 * `Refusal` if a rule forbids the change.
 */
export function changeAsOperator(platform: WakePlatform, command: ChangeCommand, operator: string): Promise<ChangeOutcome> {
  const { command: name, ...given } = command;
  return runAudited(
    platform,
    { operator, command: name, given },
    () => change(platform, command),
    ({ id, isChanged }) => ({ isChanged, targetId: id }),
  );
}
