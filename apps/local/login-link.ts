import type { LoginCode } from '../../lib/contract/user.ts';
import type { Call } from './api-client.ts';
import type { Demo } from './demo-notes.ts';

/**
 * A link that logs `call`'s person in at `baseUrl`, once, within 15 minutes, and leads to the demo's first channel, if there is one. The code stands in
 * the fragment, which no browser sends anywhere.
 */
export async function loginLink(call: Call, baseUrl: string, server?: Demo['server']): Promise<string> {
  const { code } = await call<LoginCode>('POST', '/api/auth/codes');
  const next = server ? `?next=/servers/${server.id}/${server.channelId}` : '';
  return `${baseUrl}/login${next}#code=${code}`;
}
