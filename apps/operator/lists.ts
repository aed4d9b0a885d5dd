import { formatMib } from '../../lib/base/limits.ts';
import { listOperatorAudit } from '../../lib/domain/operators/audit.ts';
import { getAccountDetails, type ListedServer, listAccounts, listServersOfAll, listStorage } from '../../lib/domain/operators/lists.ts';
import type { Platform } from '../../lib/store/platform.ts';
import type { ListCommand } from './commands.ts';
import { exitCodes, type Result } from './result.ts';
import { quoted } from './text.ts';

const toResult = (command: ListCommand, json: Record<string, unknown>, lines: readonly string[], more = ''): Result => ({
  exitCode: exitCodes.done,
  json: { ok: true, command: command.command, ...json },
  text: [...(lines.length > 0 ? lines : ['None.']), ...(more === '' ? [] : [more])].join('\n'),
});

const formatSize = (bytes: number): string => formatMib(Math.round(bytes / 104_857.6) * 104_857.6).replace(/(\.\d)\d*/, '$1');

const toServerLine = ({ id, name, ownerId, memberCount, storedBytes }: ListedServer): string =>
  `${id}  ${quoted(name)}  owner ${ownerId}, members: ${memberCount}, files: ${formatSize(storedBytes)}`;

const nextPage = (next: string | null, option: string): string => (next === null ? '' : `There are more: ${option} ${next}`);

/** Executes a command that lists or shows something. Changes nothing. */
export async function executeList(platform: Platform, command: ListCommand): Promise<Result> {
  switch (command.command) {
    case 'accounts': {
      const page = await listAccounts(platform, command);
      const lines = page.items.map(
        ({ id, username, displayName, suspendedAt }) =>
          `${id}  ${quoted(username)}  ${quoted(displayName)}${suspendedAt === null ? '' : `  suspended since ${suspendedAt}`}`,
      );
      return toResult(command, { ...page }, lines, nextPage(page.next, '--after'));
    }
    case 'servers': {
      const page = await listServersOfAll(platform, command);
      return toResult(command, { ...page }, page.items.map(toServerLine), nextPage(page.next, '--after'));
    }
    case 'storage': {
      const page = await listStorage(platform, command);
      return toResult(command, { ...page }, page.items.map(toServerLine), nextPage(page.next, '--after'));
    }
    case 'audit': {
      const page = await listOperatorAudit(platform, command);
      const items = page.items.map(({ _id, at, expiresAt: _expiresAt, ...rest }) => ({ id: _id, at: at.toISOString(), ...rest }));
      const lines = items.map(
        ({ id, at, operator, command: name, given, outcome, targetId }) =>
          `${id}  ${at}  ${quoted(operator)}  ${name} ${JSON.stringify(given).replace(/\p{C}/gu, '\uFFFD')}  ${outcome}${targetId === undefined ? '' : ` ${targetId}`}`,
      );
      return toResult(command, { items, next: page.next }, lines, nextPage(page.next, '--before'));
    }
    case 'account': {
      const details = await getAccountDetails(platform, command.userId);
      const { displayName, suspendedReason, identity, deletion, username, ownedServers, applications, ...plain } = details;
      const names = (list: readonly { id: string; name: string }[]): string =>
        list.map(({ id, name }) => `${quoted(name)} (${id})`).join(', ') || 'none';
      const lines = [
        `username: ${quoted(username)}`,
        `displayName: ${quoted(displayName)}`,
        ...Object.entries(plain).map(([field, value]) => `${field}: ${value ?? 'none'}`),
        `suspendedReason: ${suspendedReason === null ? 'none' : quoted(suspendedReason)}`,
        `identity: ${identity === null ? 'none' : `${quoted(identity.subject)} of ${identity.issuer} since ${identity.linkedAt}`}`,
        `deletion: ${deletion === null ? 'none' : `${deletion.deletesAt}, messages: ${deletion.messages}`}`,
        `ownedServers: ${names(ownedServers)}`,
        `applications: ${names(applications)}`,
      ];
      return toResult(command, { account: details }, lines);
    }
  }
}
