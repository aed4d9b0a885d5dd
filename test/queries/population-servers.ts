import {
  accounts,
  at,
  bots,
  channelId,
  channels,
  isBot,
  messageId,
  oneIn,
  otherId,
  outbox,
  type Population,
  serverId,
  serverOfChannel,
  servers,
  threadId,
  userId,
} from './population-ids.ts';

const members: Population = [
  12_000,
  (n) => {
    // 5,000 members of server 0; 7,000 more memberships of 1,000 accounts, and 10 bots in all servers.
    const isLarge = n < 5_000;
    const server = isLarge ? 0 : 1 + (n % (servers - 1));
    const user = isLarge ? n : Math.floor((n - 5_000) / (servers - 1)) < 10 ? Math.floor((n - 5_000) / (servers - 1)) : bots + (n % 1_000);
    return {
      _id: `${serverId(server)}:${userId(user)}`,
      serverId: serverId(server),
      userId: userId(user),
      bot: isBot(user),
      ...(isBot(user) ? {} : { slot: isLarge ? 0 : 1 + Math.floor(n / 1_000) }),
      roles: [otherId(server)],
      joinedAt: at(n),
      search: { username: `name${user}`, displayName: `name ${user}` },
      ...oneIn(40, n, { renameId: otherId(n) }),
      ...outbox(n, 40),
    };
  },
];

/** Servers and their members. */
export const serversPopulation: Record<string, Population> = {
  servers: [
    servers,
    (n) => ({
      _id: serverId(n),
      name: `server ${n}`,
      iconUrl: null,
      ownerId: userId(bots + n),
      roles: [
        { id: serverId(n), name: '@everyone', color: null, hoist: false, permissions: 15, botId: null },
        { id: otherId(n), name: 'bot', color: null, hoist: false, permissions: 0, botId: userId(n % bots) },
      ],
      rolesVersion: 1,
      invitesPaused: false,
      types: [],
      community: n % 2 === 0,
      listed: n % 2 === 0,
      rulesChannelId: channelId(n),
      updatesChannelId: channelId(n),
      discovery: { category: 'gaming', description: '', tags: [] },
      search: { name: `server ${n % 50}`, description: '', tags: '' },
      nextPosition: 500,
      memberCount: n,
      ...oneIn(10, n, { recountAt: at(n) }),
      storedBytes: n % 50,
      ...oneIn(10, n, { messageRetentionDays: n % 100, createdFor: `${userId(n)}:server ${n}` }),
      createdAt: at(n),
      ...outbox(n, 10),
    }),
  ],
  channels: [
    channels + 1_500,
    (n) => {
      const isThread = n >= channels;
      const parent = n % 50;
      return {
        _id: isThread ? threadId(n) : channelId(n),
        serverId: serverId(isThread ? serverOfChannel(parent) : serverOfChannel(n)),
        kind: isThread ? 'thread' : n % 25 === 0 ? 'announcement' : 'text',
        name: `channel-${n}`,
        position: isThread ? -1 : n < 500 ? n : Math.floor(n / servers),
        parentId: isThread ? channelId(parent) : n % 25 ? channelId(n - (n % 25)) : null,
        topic: null,
        slowmodeSecs: 0,
        contentMode: 'default',
        archived: false,
        overwrites: [{ id: otherId(n), allow: 0, deny: 0 }],
        createdAt: at(n),
        ...(isThread
          ? {
              threadOwnerId: userId(n % accounts),
              threadStarterId: messageId(n),
              messageCount: 5,
              lastActivityAt: at(n),
              ...(n % 2 && { archiveAt: at(n) }),
            }
          : { slot: n < 500 ? n : Math.floor(n / (servers - 1)) }),
        ...oneIn(20, n, { recountAt: at(n) }),
        ...(isThread ? {} : oneIn(30, n, { heldAt: at(n) })),
        ...outbox(n, 15),
      };
    },
  ],
  members,
  memberships: [
    12_000,
    (n) => {
      const member = members[1](n);
      return {
        _id: `${member.userId}:${member.serverId}`,
        userId: member.userId,
        serverId: member.serverId,
        bot: member.bot,
        ...('slot' in member && { slot: member.slot }),
        joinedAt: at(n),
        ...oneIn(40, n, { checkAt: at(n) }),
      };
    },
  ],
  bans: [
    2_000,
    (n) => ({ _id: `${serverId(n % 4)}:${userId(n)}`, serverId: serverId(n % 4), userId: userId(n), reason: null, createdAt: at(n) }),
  ],
  invites: [
    1_500,
    (n) => ({
      _id: `invite${n}`,
      serverId: serverId(n % 5),
      creatorId: userId(n),
      slot: Math.floor(n / 5),
      maxAgeSecs: 0,
      maxUses: 5,
      uses: 1,
      joining: [{ userId: userId(n), at: at(n) }],
      expiresAt: new Date(Date.now() + 86_400_000 + n),
      createdAt: at(n),
    }),
  ],
  audit: [
    8_000,
    (n) => ({
      _id: otherId(n),
      serverId: serverId(n % 4),
      actorId: userId(n % accounts),
      action: 'role_update',
      targetId: null,
      reason: null,
      changes: {},
      createdAt: at(n),
    }),
  ],
};
