import { type Static, Type } from 'typebox';
import { Choice, Nullable, OwnPassword, Timestamp } from './shared.ts';

/** What happens to a person's messages when the account is deleted: they stay and show a deleted account (`keep`), or are deleted, too (`delete`). */
const MessagesChoice = Choice(['keep', 'delete']);
export type MessagesChoice = Static<typeof MessagesChoice>;

/** `POST /api/users/@me/deletion`. */
export const AccountDeletionInput = Type.Object({ password: OwnPassword, messages: MessagesChoice });
export type AccountDeletionInput = Static<typeof AccountDeletionInput>;

/** `POST /api/users/@me/deletion` 200: a scheduled deletion of the caller's account (docs/behavior/accounts.md#account-deletion). */
export const AccountDeletion = Type.Object({ deletesAt: Timestamp, messages: MessagesChoice });
export type AccountDeletion = Static<typeof AccountDeletion>;

/** `GET /api/users/@me/deletion`: null if none is scheduled, and how many days after a request an account is deleted. */
export const OwnDeletion = Type.Object({ deletion: Nullable(AccountDeletion), graceDays: Type.Integer({ minimum: 0 }) });
export type OwnDeletion = Static<typeof OwnDeletion>;
