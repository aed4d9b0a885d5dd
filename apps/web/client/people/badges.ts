import type { Badge } from '../../../../lib/contract/user.ts';

/** The name of each badge, and who gets it (docs/behavior/accounts.md#badges). */
export const badgeTexts: Record<Badge, { name: string; about: string }> = {
  staff: { name: 'Staff', about: 'Member of the platform staff' },
  developer: { name: 'Developer', about: 'Member of a developer server' },
  partner: { name: 'Partner', about: 'Owns a partnered server' },
  verified_server_owner: { name: 'Verified owner', about: 'Owns a verified server' },
  early_access: { name: 'Early access', about: 'Joined during early access' },
};
