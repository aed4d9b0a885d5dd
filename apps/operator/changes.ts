import { createPasswordReset } from '../../lib/domain/accounts/password-resets.ts';
import { endAllSessions } from '../../lib/domain/accounts/sessions.ts';
import { requirePersonAccount, restoreAccount, suspendAccount } from '../../lib/domain/accounts/suspensions.ts';
import { createServerAsOperator, deleteServerAsOperator, transferServer } from '../../lib/domain/operators/servers.ts';
import type { WakePlatform } from '../../lib/store/platform.ts';
import type { OperatorCommand } from './commands.ts';
import { exitCodes, type Result } from './result.ts';
import { quoted } from './text.ts';

/** A command that changes an account or a server, other than a grant. */
export type ChangeCommand = Extract<
  OperatorCommand,
  { command: 'suspend' | 'unsuspend' | 'reset-password' | 'end-sessions' | 'create-server' | 'transfer-server' | 'delete-server' }
>;

/** The fields of the result: what was changed, whether anything was, and a sentence for people. */
interface Outcome {
  id: string;
  name: string;
  isChanged: boolean;
  sentence: string;
  more?: Record<string, unknown>;
}

async function change(platform: WakePlatform, command: ChangeCommand): Promise<Outcome> {
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
      const { code, expiresAt } = await createPasswordReset(platform, id);
      const link = `${platform.config.baseUrl}/reset-password#code=${code}`;
      const sentence = `this link sets a new password once, until ${expiresAt.toISOString()}. Give it only to this person.\n${link}`;
      return { id, name, isChanged: true, sentence, more: { link, expiresAt: expiresAt.toISOString() } };
    }
    case 'end-sessions': {
      const { _id: id, username: name } = await requirePersonAccount(platform, command.userId);
      await endAllSessions(platform, id);
      return { id, name, isChanged: true, sentence: 'all sessions have ended.' };
    }
    case 'create-server': {
      const created = await createServerAsOperator(platform, command.name, command.owner);
      return { ...created, sentence: created.isChanged ? 'created.' : 'the owner already has a server of this name, unchanged.' };
    }
    case 'transfer-server': {
      const moved = await transferServer(platform, command.serverId, command.userId);
      return { ...moved, sentence: moved.isChanged ? `owned by ${command.userId} now.` : `already owned by ${command.userId}, unchanged.` };
    }
    case 'delete-server':
      return { ...(await deleteServerAsOperator(platform, command.serverId)), sentence: 'deleted.' };
  }
}

/** Executes a command that changes an account or a server. */
export async function executeChange(platform: WakePlatform, command: ChangeCommand): Promise<Result> {
  const { id, name, isChanged, sentence, more } = await change(platform, command);
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: command.command, changed: isChanged, id, name, ...more },
    text: `${quoted(name)} (${id}): ${sentence}`,
  };
}
