/** The sender of a request: the address that rate limits count, the `User-Agent` header, and the id of the session's token (null without one). */
export interface Client {
  address: string;
  userAgent: string;
  tokenId: string | null;
}
