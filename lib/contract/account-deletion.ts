import { type Static, Type } from 'typebox';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { Nullable, OwnPassword, Timestamp } from './shared.ts';
import { OwnCode } from './two-factor.ts';

/** What happens to a person's messages when the account is deleted: they stay and show a deleted account (`keep`), or are deleted, too (`delete`). */
export const MessagesChoice = Choice(['keep', 'delete'], {
  description:
    'What happens to the messages of the account. `keep`: they stay and show a deleted account. `delete`: they are deleted with their files.',
});
export type MessagesChoice = Static<typeof MessagesChoice>;

/** `POST /api/users/@me/deletion`. */
export const AccountDeletionInput = ObjectOf(
  { password: OwnPassword, code: OwnCode, messages: MessagesChoice },
  'A request to delete the account of the caller after the grace period.',
  { code: undefined },
);
export type AccountDeletionInput = Static<typeof AccountDeletionInput>;

/** `POST /api/users/@me/deletion` 200: a scheduled deletion of the caller's account (docs/behavior/accounts.md#account-deletion). */
export const AccountDeletion = ObjectOf(
  { deletesAt: Described(Timestamp, 'When the account is deleted. Until then it works as before.'), messages: MessagesChoice },
  'A scheduled deletion of an account.',
);
export type AccountDeletion = Static<typeof AccountDeletion>;

/** `GET /api/users/@me/deletion`: null if none is scheduled, and how many days after a request an account is deleted. */
export const OwnDeletion = ObjectOf(
  {
    deletion: Described(Nullable(AccountDeletion), 'The scheduled deletion; null if none is scheduled.'),
    graceDays: Type.Integer({
      minimum: 0,
      description: 'How many days after a request an account is deleted.',
      examples: [14],
    }),
  },
  'The deletion of the account of the caller.',
);
export type OwnDeletion = Static<typeof OwnDeletion>;
