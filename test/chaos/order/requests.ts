import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** The maximum time of a request, in milliseconds. */
const answerMs = 15_000;

/** An account that sends requests. */
export interface Caller {
  id: string;
  token: string;
  /** The value of an Authorization header. */
  as: string;
}

/** Where the processes are. `pick` chooses one at random. */
export interface Addresses {
  api(): string;
  gateway(): string;
  pick(below: number): number;
}

/** A response: status 0 if there was none. */
export interface Answer<T> {
  status: number;
  body: T;
}

/** Sends a request. Never rejects. */
export function call<T = Record<string, unknown>>(
  url: string,
  method: string,
  caller: Caller | null,
  body?: object | readonly object[],
): Promise<Answer<T>> {
  return new Promise((resolve) => {
    const none = (): void => resolve({ status: 0, body: null as T });
    const headers = { ...(caller ? { Authorization: caller.as } : {}), ...(body ? { 'Content-Type': 'application/json' } : {}) };
    const sent = request(url, { method, agent, timeout: answerMs, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', none);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        resolve({ status: response.statusCode ?? 0, body: (text === '' ? null : JSON.parse(text)) as T });
      });
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', none);
    sent.end(body && JSON.stringify(body));
  });
}
