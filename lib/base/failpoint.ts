/** The points in the code where a fault test can kill the process (setting FAILPOINTS). */
export type Failpoint =
  | 'after-invoke-write'
  | 'after-endpoint-claim'
  | 'after-endpoint-reply'
  | 'after-answer-write'
  | 'after-notice-write'
  | 'after-ban-write'
  | 'after-removal'
  | 'after-membership-claim'
  | 'after-member-write'
  | 'after-departure-intent'
  | 'after-departure'
  | 'after-notice-post'
  | 'after-file-write'
  | 'after-blob-write'
  | 'after-message-write'
  | 'after-reaction-begin'
  | 'after-reaction-write'
  | 'after-picture-open'
  | 'after-picture-shown'
  | 'after-removal-intent'
  | 'during-removal'
  | 'after-account-begin'
  | 'after-account-delete'
  | 'after-copies-write'
  | 'after-crosspost-mark'
  | 'after-image-encode'
  | 'after-image-put'
  | 'after-image-stored'
  | 'after-original-delete'
  | 'after-delivery-claim'
  | 'after-delivery-message'
  | 'during-retention'
  | 'after-migration-batch'
  | 'after-migration-position'
  | 'after-backup-file'
  | 'after-restore-page'
  | 'after-restore-file'
  | 'after-export-part-record'
  | 'after-export-part'
  | 'after-export-ready';

/** Kills this process with SIGKILL if FAILPOINTS (comma-separated) contains `name`. Does nothing otherwise. */
export function failpoint(config: { readonly FAILPOINTS: string }, name: Failpoint): void {
  if (config.FAILPOINTS !== '' && config.FAILPOINTS.split(',').includes(name)) process.kill(process.pid, 'SIGKILL');
}

/**
 * What a fault test can switch off, to prove that it detects what follows: replays, the wait of messages for earlier changes, events of channels that become
 * visible or hidden, the ids of joins, and the check of what an account may view when a missed event is sent.
 */
export type Switch = 'no-replay' | 'no-change-order' | 'no-view-events' | 'no-join-ids' | 'no-current-rules';

/** Whether FAILPOINTS switches something off. */
export const isSwitchedOff = (config: { readonly FAILPOINTS: string }, name: Switch): boolean =>
  config.FAILPOINTS !== '' && config.FAILPOINTS.split(',').includes(name);
