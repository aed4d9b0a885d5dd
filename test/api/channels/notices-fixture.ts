import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { TestApi } from '../../harness/api.ts';
import { type Caller, send } from '../../harness/requests.ts';

/** An account's DM channels. */
export const listDms = (api: TestApi, as: Caller): Promise<DmChannel[]> => send(api, 200, as, 'GET', '/api/users/@me/channels');

/** The messages of an account's newest DM: those of the system account, unless the account has written to others. */
export async function listNotices(api: TestApi, as: Caller): Promise<Message[]> {
  const [dm] = await listDms(api, as);
  return dm ? send(api, 200, as, 'GET', `/api/channels/${dm.id}/messages`) : [];
}
