import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** The maximum time of a request, in milliseconds. */
const answerMs = 15_000;

/** A response of the API; status 0 and null if there was none. A body that is not JSON is null. */
export interface Answer<T> {
  status: number;
  body: T;
}

/** Sends a request with the Authorization header `as`, or without one. Never rejects. */
export function call<T = Record<string, unknown>>(
  method: string,
  url: string,
  as: string | null,
  body?: object | readonly object[],
  more: Record<string, string> = {},
): Promise<Answer<T>> {
  return new Promise((resolve) => {
    const none = (): void => resolve({ status: 0, body: null as T });
    const headers = { ...(as === null ? {} : { Authorization: as }), ...(body ? { 'Content-Type': 'application/json' } : {}), ...more };
    const sent = request(url, { method, agent, timeout: answerMs, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', none);
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        const isJson = received['content-type']?.startsWith('application/json');
        resolve({ status, body: (isJson ? JSON.parse(Buffer.concat(pieces).toString()) : null) as T });
      });
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', none);
    sent.end(body && JSON.stringify(body));
  });
}
