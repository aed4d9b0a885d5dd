/** The names of the spots where a fault test may end a process (setting FAILPOINTS). */
export type Failpoint =
  | 'after-invoke-write'
  | 'after-endpoint-claim'
  | 'after-endpoint-reply'
  | 'after-answer-write'
  | 'after-notice-write'
  | 'after-ban-write'
  | 'after-removal'
  | 'after-departure-intent'
  | 'after-departure'
  | 'after-notice-post'
  | 'after-file-write'
  | 'after-blob-write'
  | 'after-message-write'
  | 'after-picture-open'
  | 'after-picture-shown'
  | 'after-removal-intent'
  | 'during-removal'
  | 'after-copies-write'
  | 'after-crosspost-mark'
  | 'after-image-encode'
  | 'after-image-put'
  | 'after-image-stored'
  | 'after-original-delete'
  | 'after-delivery-claim'
  | 'after-delivery-message';

/** Ends this process at once, as SIGKILL does, when FAILPOINTS (comma-separated) holds `name`. Does nothing otherwise. */
export function failpoint(config: { readonly FAILPOINTS: string }, name: Failpoint): void {
  if (config.FAILPOINTS !== '' && config.FAILPOINTS.split(',').includes(name)) process.kill(process.pid, 'SIGKILL');
}
