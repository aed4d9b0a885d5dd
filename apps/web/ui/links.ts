/**
 * A URL of this service as a path of this page's origin: files and pictures are told with the public address, and the page's policy lets only its own
 * origin through, also where it is reached by another name. Others stay as they are, and the policy stops them.
 */
export function ownPath(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed && /^\/(files|images)\//.test(parsed.pathname) ? parsed.pathname + parsed.search : url;
}

/** Whether a link of a stranger may be opened: http and https only, so that no `javascript:` runs. */
export const isSafeLink = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
