import { accounts, applicationId, at, bots, hash, isBot, oneIn, otherId, outbox, type Population, userId } from './population-ids.ts';

/** Accounts and what belongs to one of them, and the log of operators. */
export const accountsPopulation: Record<string, Population> = {
  accounts: [
    accounts,
    (n) => ({
      _id: userId(n),
      kind: isBot(n) ? 'bot' : 'person',
      username: `name${n}`,
      displayName: `Name ${n}`,
      avatarUrl: null,
      tag: isBot(n) && n % 2 ? 'verified_bot' : null,
      passwordHash: hash(n),
      applicationId: isBot(n) ? applicationId(n) : null,
      status: n % 20 === 3 ? 'invisible' : 'online',
      customStatus: null,
      createdAt: at(n),
      storedBytes: n,
      ...oneIn(50, n, {
        twoFactor: { secret: hash(n), enabledAt: at(n), lastStep: n, recoveryCodes: [hash(n)] },
      }),
      ...(isBot(n) || n % 2 ? {} : { identity: { issuer: 'https://sso.example.org', subject: `subject${n}`, linkedAt: at(n) } }),
      ...(isBot(n) ? {} : oneIn(10, n, { unlinked: { issuer: 'https://sso.example.org', subject: `unlinked${n}`, at: at(n) } })),
      ...(isBot(n) ? {} : oneIn(10, n, { deletion: { at: at(n), messages: 'keep' } })),
      ...outbox(n, 20),
    }),
  ],
  tokens: [
    9_000,
    (n) => ({
      _id: n < bots ? userId(n) : otherId(n),
      accountId: userId(n < bots ? n : bots + (n % 1_500)),
      kind: n < bots ? 'bot' : 'session',
      hash: hash(n),
      createdAt: at(n),
      ...(n < bots
        ? { expiresAt: null }
        : { expiresAt: new Date(Date.now() + 86_400_000 + n), slot: Math.floor(n / 1_500), lastUsedAt: at(n), address: '::1' }),
    }),
  ],
  loginCodes: [
    600,
    (n) => ({
      _id: hash(n),
      accountId: userId(bots + (n % 150)),
      sessionId: otherId(n),
      slot: Math.floor(n / 150),
      createdAt: at(n),
      expiresAt: new Date(Date.now() + 900_000 + n),
    }),
  ],
  passwordResets: [
    600,
    (n) => ({ _id: hash(n), accountId: userId(bots + n), createdAt: at(n), expiresAt: new Date(Date.now() + 3_600_000 + n) }),
  ],
  exports: [
    600,
    (n) => ({
      _id: otherId(n),
      accountId: userId(bots + n),
      key: hash(n),
      state: 'ready',
      attempts: 1,
      parts: [1],
      bytes: 1,
      announced: true,
      createdAt: at(n),
      nextAt: at(n),
      expiresAt: new Date(Date.now() + 86_400_000 + n),
      dueAt: new Date(Date.now() + 86_400_000 + n),
    }),
  ],
  operatorAudit: [
    2_000,
    (n) => ({
      _id: otherId(n),
      at: at(n),
      operator: 'operator',
      command: 'suspend',
      given: { userId: userId(n) },
      outcome: 'done',
      targetId: userId(n),
      expiresAt: new Date(Date.now() + 86_400_000 + n),
    }),
  ],
  applications: [
    bots,
    (n) => ({
      _id: applicationId(n),
      ownerId: userId(bots + (n % 20)),
      botId: userId(n),
      name: `app ${n}`,
      description: '',
      iconUrl: null,
      public: n % 3 === 0,
      inDirectory: n % 3 === 0,
      interactionsEndpointUrl: null,
      signingSecret: hash(n),
      serverCount: n,
      ...oneIn(10, n, { recountAt: at(n) }),
      search: { name: `app ${n}`, description: '' },
      slot: Math.floor(n / 20),
      createdAt: at(n),
    }),
  ],
};
