import {
  accounts,
  applicationId,
  at,
  bots,
  channelId,
  channelOfMessage,
  hash,
  idOf,
  messageId,
  oneIn,
  otherId,
  outbox,
  type Population,
  serverId,
  serverOfChannel,
  servers,
  userId,
} from './population-ids.ts';

/** Messages, files and what is done with them. */
export const messagesPopulation: Record<string, Population> = {
  messages: [
    20_000,
    (n) => {
      const channel = channelOfMessage(n);
      return {
        _id: messageId(n),
        channelId: channelId(channel),
        serverId: serverId(serverOfChannel(channel)),
        authorId: userId(n % 50),
        content: 'text',
        embeds: [],
        attachments: n % 9 ? [] : [{ id: otherId(n), key: hash(n) }],
        mentions: n % 11 ? [] : [userId(n % accounts)],
        mentionRoles: [],
        mentionEveryone: false,
        replyTo: n % 13 ? null : messageId(n - 2),
        interaction: null,
        createdAt: at(n),
        editedAt: null,
        isNew: true,
        createId: otherId(n),
        ...oneIn(11, n, { pings: true }),
        ...oneIn(11, n, { reactions: [{ identity: '+', emoji: '+', count: 1 }], reactionCount: 1 }),
        ...(n % 251 === 0 && { pinSlot: Math.floor(n / 251), pinnedAt: at(n) }),
        ...oneIn(61, n, { previewsAt: at(n) }),
        ...oneIn(63, n, { crosspostAt: at(n), crosspostTo: channelId(0), crossposted: true }),
        ...oneIn(30, n, { copyOf: messageId(n - (n % 600)) }),
        ...oneIn(81, n, { noticeId: otherId(n) }),
        ...oneIn(51, n, { deleted: true }),
        ...outbox(n, 49),
      };
    },
  ],
  reactions: [
    10_000,
    (n) => {
      const message = n < 5_000 ? 7 : 7 + 11 * Math.floor(n / 5);
      const identity = n % 2 ? '+' : '-';
      return {
        _id: `${messageId(message)}:${userId(n % accounts)}:${identity}`,
        channelId: channelId(channelOfMessage(message)),
        messageId: messageId(message),
        userId: userId(n % accounts),
        identity,
        at: at(n),
        ...oneIn(41, n, { eventId: otherId(n) }),
      };
    },
  ],
  files: [
    6_000,
    (n) => ({
      _id: otherId(n),
      key: hash(n),
      blob: `blob${n - (n % 3)}`,
      messageId: messageId(n - (n % 2)),
      channelId: channelId(channelOfMessage(n)),
      accountId: userId(n % accounts),
      filename: 'a.png',
      contentType: 'image/png',
      size: 1,
      width: null,
      height: null,
      state: n % 20 === 7 ? 'waiting' : n % 20 === 9 ? 'freed' : 'stored',
      createdAt: at(n),
      ...oneIn(20, n, { original: `original${n}`, megapixels: 1, begun: 0 }),
      ...(n % 20 === 9 && { openAt: at(n) }),
      ...oneIn(3, n, { charge: { accountId: userId(n % accounts), serverId: serverId(n % servers), bytes: 1 } }),
    }),
  ],
  dms: [
    3_000,
    (n) => {
      const userIds = [userId(bots + (n % 30)), userId(500 + n)] as const;
      return {
        _id: idOf(8, n),
        pair: [...userIds].sort().join(':'),
        userIds,
        bots: [],
        lastMessageId: messageId(n),
        activeId: otherId(n),
        createdAt: at(n),
      };
    },
  ],
  notices: [
    3_000,
    (n) => ({
      _id: otherId(n),
      userId: userId(n),
      kind: 'kick',
      serverId: serverId(n % servers),
      serverName: 'server',
      reason: null,
      at: at(n),
    }),
  ],
  removals: [
    3_000,
    (n) => ({
      _id: otherId(n),
      kind: 'channel',
      serverId: serverId(n % servers),
      ownerId: userId(n),
      overwrites: [],
      at: at(n),
      nextAt: at(n),
    }),
  ],
  follows: [
    2_500,
    (n) => ({
      _id: `${channelId(25 * (n % 5))}:${channelId(n)}`,
      sourceId: channelId(25 * (n % 5)),
      targetId: channelId(n),
      serverId: serverId(serverOfChannel(n)),
      createId: otherId(n),
      slot: Math.floor(n / 5),
      createdAt: at(n),
    }),
  ],
  turns: [
    2_000,
    (n) => ({ _id: `${channelId(n % 10)}:${userId(n)}`, at: at(n), createId: otherId(n), expiresAt: new Date(Date.now() + 900_000 + n) }),
  ],
  webhooks: [
    750,
    (n) => ({
      _id: otherId(n),
      channelId: channelId(n % 50),
      serverId: serverId(0),
      name: 'hook',
      token: hash(n),
      tokenHash: hash(n),
      slot: Math.floor(n / 50),
      createdAt: at(n),
      posts: [],
      deliveryPosts: [],
      drainAt: at(n),
    }),
  ],
  deliveries: [
    5_000,
    (n) => {
      const isWaiting = n % 50 === 7;
      return {
        _id: idOf(9, n),
        webhookId: otherId(n % 20),
        deliveryId: hash(n),
        event: 'push',
        action: null,
        outcome: isWaiting ? 'waiting' : n % 50 === 9 ? 'merged' : 'posted',
        reason: null,
        at: at(n),
        ...(n >= 4_000 && { recent: true }),
        ...(n < 20 && { connects: true }),
        ...(n % 50 === 9 && { into: idOf(9, n - 2) }),
        ...(isWaiting && { more: true, tries: 1, facts: {} }),
        ...(n < 4_500 && { expiresAt: new Date(Date.now() + 900_000 + n) }),
      };
    },
  ],
  reads: [
    10_000,
    (n) => {
      const user = userId(bots + (n % 100));
      const channel = channelId(Math.floor(n / 100));
      return { _id: `${user}:${channel}`, userId: user, channelId: channel, messageId: messageId(n) };
    },
  ],
  commands: [
    600,
    (n) => ({
      _id: `${applicationId(n % bots)}:${n < bots ? 'all' : serverId(n % servers)}`,
      applicationId: applicationId(n % bots),
      serverId: n < bots ? null : serverId(n % servers),
      commands: [{ id: otherId(n), name: 'ping', kind: 'slash' }],
    }),
  ],
  interactions: [
    5_000,
    (n) => ({
      _id: otherId(n),
      applicationId: applicationId(n % 10),
      botId: userId(n % 10),
      channelId: channelId(n % 100),
      serverId: serverId(0),
      userId: userId(n % accounts),
      userRoles: [],
      command: { id: otherId(n), name: 'ping' },
      options: [],
      state: n % 25 === 7 ? 'created' : 'answered',
      createdAt: new Date(Date.now() - 100_000 + n),
      openedAt: n % 25 === 7 ? null : at(n),
      ephemeral: false,
      messageId: n % 25 === 7 ? null : messageId(n),
      answer: null,
      endpoint: n % 2 === 0,
      deliveredAt: n % 4 === 0 ? at(n) : null,
      ...outbox(n, 25),
    }),
  ],
  idempotency: [
    3_000,
    (n) => ({
      _id: hash(n),
      bodyHash: hash(n),
      resourceId: otherId(n),
      holder: otherId(n),
      claimedAt: at(n),
      answer: null,
      expiresAt: new Date(Date.now() + 600_000 + n),
    }),
  ],
};
