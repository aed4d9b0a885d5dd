import { storeKeyIds } from '../store/mongo/app-key.ts';
import { type Collection, withSharedFields } from '../store/mongo/database.ts';
import { twoFactorIndex } from '../store/mongo/models/account.ts';
import type { Platform } from '../store/platform.ts';
import { deriveKeyId, seal, unseal } from '../store/seal.ts';

/** How many documents are read and written at once. */
const batchSize = 200;

/** A secret that no key decrypts. */
export interface Undecryptable {
  what: string;
  id: string;
}

/** The progress of a rotation in one collection: documents read (`checked`) and encrypted again (`reencrypted`). */
export interface RotationProgress {
  what: string;
  checked: number;
  reencrypted: number;
}

interface EncryptedField {
  what: string;
  collection: Collection<{ _id: string }>;
  field: string;
  /** The documents that have it, if not all, and the index that finds them. */
  only?: object;
  hint?: string;
}

/** Every field of the database that holds encrypted text. */
const encryptedFields = ({ db }: Platform): EncryptedField[] => [
  { what: 'signing secret of application', collection: withSharedFields(db.applications), field: 'signingSecret' },
  { what: 'token of webhook', collection: withSharedFields(db.webhooks), field: 'token' },
  { what: 'stored response', collection: withSharedFields(db.idempotency), field: 'answer.body', only: { 'answer.sealed': true } },
  {
    what: 'two-factor secret of account',
    collection: withSharedFields(db.accounts),
    field: 'twoFactor.secret',
    only: { kind: 'person', 'twoFactor.secret': { $exists: true } },
    hint: twoFactorIndex,
  },
];

const valueAt = (doc: unknown, field: string): string =>
  field.split('.').reduce((value: unknown, name) => (value as Record<string, unknown>)[name], doc) as string;

/**
 * Encrypts every secret that is under an old key again, under the current key, in batches by id. Then notes that only the current key is in use. Skips secrets
 * that are under the current key already, so running it again completes an interrupted rotation. Returns how many secrets were encrypted, and those that no key
 * decrypts.
 */
export async function rotateKey(
  platform: Platform,
  report: (progress: RotationProgress) => void,
): Promise<{ encrypted: number; undecryptable: Undecryptable[] }> {
  const { config } = platform;
  const current = `${deriveKeyId(config.APP_KEY)}.`;
  const undecryptable: Undecryptable[] = [];
  let encrypted = 0;
  for (const { what, collection, field, only, hint } of encryptedFields(platform)) {
    let [checked, reencrypted] = [0, 0];
    for (let after = ''; ; ) {
      const filter = { ...only, _id: { $gt: after } };
      const found = await collection
        .find(filter, hint === undefined ? {} : { hint })
        .project({ [field]: 1 })
        .sort({ _id: 1 })
        .limit(batchSize)
        .toArray();
      const writes = found.flatMap((doc) => {
        const sealed = valueAt(doc, field);
        if (sealed.startsWith(current)) return [];
        const text = unseal(config, sealed);
        if (text === null) {
          undecryptable.push({ what, id: doc._id });
          return [];
        }
        // The filter has the old value, so that a secret that was reset meanwhile is not overwritten.
        return [{ updateOne: { filter: { _id: doc._id, [field]: sealed }, update: { $set: { [field]: seal(config.APP_KEY, text) } } } }];
      });
      if (writes.length > 0) reencrypted += (await collection.bulkWrite(writes, { ordered: false })).modifiedCount;
      checked += found.length;
      if (found.length > 0) report({ what, checked, reencrypted });
      if (found.length < batchSize) break;
      after = found.at(-1)?._id ?? '';
    }
    encrypted += reencrypted;
  }
  // Every secret that can be decrypted at all is encrypted under the current key now.
  await storeKeyIds(platform.db, [deriveKeyId(config.APP_KEY)]);
  return { encrypted, undecryptable };
}
