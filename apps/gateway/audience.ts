import type { GatewayNode, LocalAccount, Session } from './state.ts';

/** The account's entry on this node, made when it has none; its own topic is heard when `heard` settles. The session counts from now on. */
export function joinAccount(node: GatewayNode, id: string, bot: boolean): LocalAccount {
  const known = node.accounts.get(id);
  if (known) return known;
  const account: LocalAccount = {
    id,
    bot,
    sessions: new Set<Session>(),
    servers: new Set<string>(),
    heard: node.topics.join(`user:${id}`),
    refreshing: null,
    again: false,
  };
  node.accounts.set(id, account);
  return account;
}

/** Forgets an account whose last session here is gone. */
export function leaveTopics(node: GatewayNode, account: LocalAccount): void {
  if (node.accounts.get(account.id) !== account) return;
  node.accounts.delete(account.id);
  node.unsure.delete(account);
  void node.topics.leave(`user:${account.id}`);
  for (const id of account.servers) forgetServer(node, account, id);
}

function forgetServer(node: GatewayNode, account: LocalAccount, id: string): void {
  void node.topics.leave(`server:${id}`);
  const people = node.people.get(id);
  people?.delete(account);
  if (people?.size === 0) node.people.delete(id);
}

function rememberPerson(node: GatewayNode, account: LocalAccount, id: string): void {
  const people = node.people.get(id);
  if (people) people.add(account);
  else node.people.set(id, new Set([account]));
}

/**
 * Reads which servers the account is in and hears those topics, no others. The read begins after the call: what was written before it is seen.
 * `onNew` is told when topics were joined, as events may have passed before they were heard. Rejects when the database does not answer.
 */
export function refreshServers(node: GatewayNode, account: LocalAccount, onNew: () => void): Promise<void> {
  account.again = true;
  account.refreshing ??= refreshUntilStill(node, account, onNew);
  return account.refreshing;
}

async function refreshUntilStill(node: GatewayNode, account: LocalAccount, onNew: () => void): Promise<void> {
  try {
    while (account.again) {
      account.again = false;
      await refreshOnce(node, account, onNew);
    }
  } finally {
    account.refreshing = null;
  }
}

async function refreshOnce(node: GatewayNode, account: LocalAccount, onNew: () => void): Promise<void> {
  const members = await node.platform.db.members.find({ userId: account.id }, { serverId: 1, _id: 0 }).lean();
  if (node.accounts.get(account.id) !== account) return;
  const before = account.servers;
  account.servers = new Set(members.map((one) => one.serverId));
  const joined = [...account.servers].filter((id) => !before.has(id));
  for (const id of before) if (!account.servers.has(id)) forgetServer(node, account, id);
  if (!account.bot) for (const id of joined) rememberPerson(node, account, id);
  await Promise.all(joined.map((id) => node.topics.join(`server:${id}`)));
  if (joined.length > 0) onNew();
}
