import { signal } from '@preact/signals';

/** Whose profile is open, and in which server they were met (null in a DM); null when none is. */
export const profileOpen = signal<{ userId: string; serverId: string | null } | null>(null);

/** Opens the profile of an account. */
export const openProfile = (userId: string, serverId: string | null): void => {
  profileOpen.value = { userId, serverId };
};
