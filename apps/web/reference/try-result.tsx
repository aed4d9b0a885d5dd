import type { JSX } from 'preact';
import { Code } from './code.tsx';
import type { Operation } from './reference-data.ts';
import type { FormRequest } from './request-form.ts';
import { formatNumber } from './words.ts';

/** What came back for a request of the form. */
export type Result =
  | { isSent: true; status: number; statusText: string; ms: number; headers: readonly [string, string][]; body: string }
  | { isSent: false; reason: string };

async function readBody(response: Response): Promise<string> {
  const type = response.headers.get('Content-Type') ?? '';
  if (type.includes('json')) {
    const text = await response.text();
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }
  if (type === '' || type.startsWith('text/')) return response.text();
  return `A file of the type ${type} with ${formatNumber((await response.blob()).size)} bytes.`;
}

/** Sends a request with the bot's token, without the cookies of the page. It is never retried. */
export async function sendRequest(operation: Operation, { url, headers, body }: FormRequest, token: string): Promise<Result> {
  const start = performance.now();
  try {
    const hasCredential = operation.callers !== 'none' && token !== '';
    const response = await fetch(url, {
      method: operation.method,
      headers: { ...headers, ...(hasCredential && { Authorization: `Bot ${token}` }) },
      credentials: 'omit',
      cache: 'no-store',
      ...(body !== undefined && { body }),
    });
    const ms = Math.round(performance.now() - start);
    return {
      isSent: true,
      status: response.status,
      statusText: response.statusText,
      ms,
      headers: [...response.headers],
      body: await readBody(response),
    };
  } catch (error) {
    return { isSent: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The status, time, headers and body of an answer. */
export function ResultView({ result }: { result: Result }): JSX.Element {
  if (!result.isSent)
    return (
      <p class="error-notice">
        The request was not sent or got no answer: {result.reason}. Check the token, the headers and your connection.
      </p>
    );
  const { status, statusText, ms, headers, body } = result;
  return (
    <div class="ref-result">
      <p>
        <strong class={status < 400 ? 'ref-good' : 'ref-bad'}>
          {status} {statusText}
        </strong>{' '}
        <span class="soft">in {formatNumber(ms)} ms</span>
      </p>
      {status === 401 && (
        <p class="error-notice">The platform does not accept this token. Copy it again, or reset it under My applications → Bot.</p>
      )}
      <details class="ref-details">
        <summary>{headers.length} headers</summary>
        <dl class="ref-headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {body === '' ? <p class="soft">The body is empty.</p> : <Code code={body} what="the body of the answer" head={<span>Body</span>} />}
    </div>
  );
}
