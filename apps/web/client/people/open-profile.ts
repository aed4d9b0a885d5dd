import { signal } from '@preact/signals';

/** The account whose profile is open, and the server from which it was opened (null in a DM); null when none is open. */
export const profileOpen = signal<{ userId: string; serverId: string | null } | null>(null);

/** Opens the profile of an account. */
export const openProfile = (userId: string, serverId: string | null): void => {
  profileOpen.value = { userId, serverId };
};
