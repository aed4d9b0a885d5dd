import { Check, Minus, X } from 'lucide';
import type { JSX } from 'preact';
import type { EndpointStep } from '../../../lib/contract/endpoint.ts';
import { Icon } from '../ui/icon.tsx';

/** The result of a test request: its heading, and the state of each step. `ms` is null when it is not known. */
export interface Ping {
  heading: string;
  ok: boolean;
  status: number | null;
  ms: number | null;
  reason: string | null;
  steps: readonly { step: EndpointStep; state: 'passed' | 'failed' | 'not reached'; ms: number | null }[];
}

const steps: Record<EndpointStep, { name: string; help: string }> = {
  url: { name: 'The URL is allowed', help: 'It must start with https:// and must not contain a username or password.' },
  dns: {
    name: 'The host name resolves to a public address',
    help: 'Check the spelling, and that it does not resolve to a private address.',
  },
  connect: { name: 'The connection can be opened', help: 'Check that the endpoint is running and that no firewall blocks its port.' },
  tls: { name: 'The connection is encrypted', help: 'The certificate must be valid for this host name and include the full chain.' },
  status: {
    name: 'The response has status 200',
    help: 'Redirects are not followed. A 401 often means that the endpoint uses a different signing secret.',
  },
  body: { name: 'The body is {"type":"pong"}', help: 'The response to a request of type “ping” must be exactly this JSON.' },
};
const order = Object.keys(steps) as EndpointStep[];
const icons = { passed: Check, failed: X, 'not reached': Minus };

/**
 * Returns the steps of a test request of which only the failed step is known; null means that all passed. Plain HTTP, if the operator allows it, has no
 * encryption step.
 */
export function stepsOf(url: string, failed: EndpointStep | null): Ping['steps'] {
  const included = order.filter((step) => step !== 'tls' || !/^http:/i.test(url));
  const failedAt = failed === null ? included.length : included.indexOf(failed);
  return included.map((step, index) => ({
    step,
    ms: null,
    state: index < failedAt ? 'passed' : index === failedAt ? 'failed' : 'not reached',
  }));
}

/** Shows a test request step by step, in words and icons. */
export function PingSteps({ ping: { heading, ok, status, ms, reason, steps: results } }: { ping: Ping }): JSX.Element {
  const facts = [status === null ? 'no HTTP status' : `HTTP status ${status}`, ms !== null && `${ms} ms in total`]
    .filter(Boolean)
    .join(', ');
  return (
    <div class={`ping ${ok ? 'good' : 'bad'}`}>
      <p>
        <strong>{heading}</strong> ({facts})
      </p>
      <ol>
        {results.map((one) => (
          <li key={one.step} class={one.state.replace(' ', '-')}>
            <Icon of={icons[one.state]} />
            <span>
              {steps[one.step].name}: {one.state}
              {one.ms !== null && `, ${one.ms} ms`}
              {one.state === 'failed' && (
                <>
                  {reason && <span class="ping-reason">{reason}</span>}
                  <span class="hint">{steps[one.step].help}</span>
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
