/** The groups of operations in the OpenAPI document, in its order, with their descriptions. */
export const tags = {
  Messages: 'Read, post, edit and delete the messages of a channel, with files and embeds.',
  Reactions: 'Reactions of accounts to a message.',
  Pins: 'The pinned messages of a channel.',
  Threads: 'Threads are channels within a channel, optionally about one of its messages.',
  Announcements: 'Publish messages of an announcement channel to all channels that follow it.',
  'Direct messages': 'Channels between two accounts. They belong to no server.',
  Channels: 'The channels of a server, their permission overwrites, and what happens in them besides messages.',
  Commands: 'Register the slash and prefix commands of an application, list them for people, and use them.',
  Interactions: 'Answer the use of a command. The id and the token of the interaction in the path are the credential.',
  Servers: 'Servers with their settings, icons and audit logs.',
  Members: 'The members of a server and their roles.',
  Bans: 'Accounts that cannot join a server.',
  Roles: 'The roles of a server with their permissions.',
  Invites: 'Codes with which people join a server.',
  Webhooks: 'Post messages without an account by a secret URL, also directly from code hosts.',
  Community: 'Community servers, and what Discovery shows about a server.',
  Discovery: 'The public lists of servers and applications.',
  Users: 'Profiles of other accounts.',
  Account: 'The caller’s own account: profile, presence, read states, sessions and security.',
  Authentication: 'Registration, login and logout of people. Bots have a token instead.',
  Applications: 'Create and manage applications with their bots, tokens, signing secrets and Interactions Endpoints.',
  Installation: 'This installation, its gateway, and the descriptions of its API.',
} as const;

/** The name of a group of operations. */
export type Tag = keyof typeof tags;
