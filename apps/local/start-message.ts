import type { Demo } from './demo-notes.ts';

/** The addresses of the running service. */
export interface Addresses {
  baseUrl: string;
  gatewayUrl: string;
  opsUrl: string;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const curl = (url: string, credential: string, body: unknown): string =>
  `curl -sS ${url} -H ${quoted(`Authorization: ${credential}`)} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;

/**
 * The text that `npm start` prints last: the link that logs the demo person in, addresses, tokens, and three commands to paste. `isDefaultAddress`: whether
 * `npm run listen` finds the API without `BASE_URL`.
 */
export function startMessage({ baseUrl, gatewayUrl, opsUrl }: Addresses, demo: Demo, link: string, isDefaultAddress: boolean): string {
  const channel = `${baseUrl}/api/channels/${demo.server.channelId}`;
  const where = isDefaultAddress ? '' : `BASE_URL=${baseUrl} `;
  return `
Parlance is running. Open this link in a browser to log in as the demo person:

  ${link}

The link works once and expires after 15 minutes. \`npm run link\` prints another.

  API           ${baseUrl}/api
  Gateway       ${gatewayUrl}
  Operations    ${opsUrl}

  Demo server   ${demo.server.id}, channel ${demo.server.channelId}
  Demo person   ${demo.person.username}, password ${demo.person.password}
                token ${demo.person.token}
  Second person ${demo.guest.username}, password ${demo.guest.password}
  Demo bot      application ${demo.application.id}
                token ${demo.application.token}

1. Listen to the demo person's gateway events, in another terminal:

  ${where}npm run listen -- ${demo.person.token}

2. Post as the bot:

  ${curl(`${channel}/messages`, `Bot ${demo.application.token}`, { content: 'Hello from the bot' })}

3. Use the slash command as the demo person. The bot answers in the channel:

  ${curl(`${channel}/commands/${demo.command.id}/invoke`, `Bearer ${demo.person.token}`, { options: [{ name: 'name', value: 'Ada' }] })}

Press Ctrl-C to stop everything.
`;
}
