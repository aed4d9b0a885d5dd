import type { LoginCode } from '../../lib/contract/user.ts';
import type { Call } from './api-client.ts';

/** A link that logs `call`'s person in at `baseUrl`, once, within 15 minutes. The code stands in the fragment, which no browser sends anywhere. */
export async function loginLink(call: Call, baseUrl: string): Promise<string> {
  const { code } = await call<LoginCode>('POST', '/api/auth/codes');
  return `${baseUrl}/login#code=${code}`;
}
