/**
 * Converts a URL of a file or picture of this service into a path of the page's own origin. The API returns these URLs with the public address, but the
 * content security policy allows only the page's origin, which differs when the page is opened by another host name. Other URLs are returned unchanged, and
 * the policy blocks them.
 */
export function ownPath(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed && /^\/(files|images)\//.test(parsed.pathname) ? parsed.pathname + parsed.search : url;
}

/** Whether a link from a message may be opened: only http and https, so that no `javascript:` URL runs. */
export const isSafeLink = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
