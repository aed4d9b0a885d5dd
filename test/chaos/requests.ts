import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** The maximum time of a request, in milliseconds. */
const answerMs = 10_000;

/** A response of the API; status 0 if there was none. */
export interface Answer {
  status: number;
  body: unknown;
}

/** Sends a request with the Authorization header `as`. Never rejects. */
export function send(method: string, url: string, as: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve) => {
    const none = (): void => resolve({ status: 0, body: null });
    const type = body ? { 'Content-Type': 'application/json' } : {};
    const sent = request(url, { method, agent, timeout: answerMs, headers: { Authorization: as, ...type, ...headers } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', none);
      response.on('end', () => {
        const { statusCode: status = 0 } = response;
        const isRead = method === 'GET' && status === 200;
        resolve({ status, body: isRead ? JSON.parse(Buffer.concat(pieces).toString()) : null });
      });
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', none);
    sent.end(body && JSON.stringify(body));
  });
}
