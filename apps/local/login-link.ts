import type { LoginCode } from '../../lib/contract/auth.ts';
import type { Call } from './api-client.ts';
import type { Demo } from './demo-notes.ts';

/**
 * A link that logs the user of `call` in at `baseUrl` and opens the channel of `server`, if given. It works once, within 15 minutes. The code is in the URL
 * fragment, which browsers do not send.
 */
export async function loginLink(call: Call, baseUrl: string, server?: Demo['server']): Promise<string> {
  const { code } = await call<LoginCode>('POST', '/api/auth/codes');
  const next = server ? `?next=/servers/${server.id}/${server.channelId}` : '';
  return `${baseUrl}/login${next}#code=${code}`;
}
