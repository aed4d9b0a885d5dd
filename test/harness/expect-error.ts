import { expect } from 'chai';
import type { Answer } from './api.ts';

const allowedFields = ['code', 'message', 'requestId', 'errors', 'missing', 'retryAfter'];

/** Expects an error response in the common form (docs/behavior/requests.md#errors): its fields, its type, and the request id in body and header. */
export function expectError(answer: Answer<object>, status: number, code: string, request = ''): void {
  const body = (answer.body ?? {}) as Record<string, unknown>;
  expect([answer.status, body.code], `${request} ${JSON.stringify(body)}`.trim()).to.deep.equal([status, code]);
  expect(answer.headers.get('Content-Type')).to.match(/^application\/json/);
  expect(answer.headers.get('X-Content-Type-Options')).to.equal('nosniff');
  expect(answer.headers.get('Cache-Control')).to.equal('no-store');
  expect(body.message).to.be.a('string').and.match(/\S/);
  expect(body.requestId).to.equal(answer.headers.get('X-Request-Id'));
  expect(allowedFields).to.include.members(Object.keys(body));
}
