import { idEpochMs } from '../base/ids.ts';
import { insertNew } from '../store/mongo/insert.ts';
import type { AccountDoc } from '../store/mongo/models/account.ts';
import type { Platform } from '../store/platform.ts';

/** The account of the platform itself. Nobody can log in as it or register its username. */
export const systemAccount: AccountDoc = {
  _id: '0000000000000000001',
  kind: 'system',
  username: 'parlance',
  displayName: 'Parlance',
  avatarUrl: null,
  tag: 'system',
  passwordHash: null,
  applicationId: null,
  status: 'online',
  customStatus: null,
  createdAt: new Date(idEpochMs),
};

/** Creates the system account if it does not exist. Called by whoever needs the account first. */
export async function ensureSystemAccount({ db }: Platform): Promise<AccountDoc> {
  await insertNew(db.accounts, systemAccount);
  return systemAccount;
}
