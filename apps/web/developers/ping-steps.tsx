import { Check, Minus, X } from 'lucide';
import type { JSX } from 'preact';
import type { EndpointStep } from '../../../lib/contract/endpoint.ts';
import { Icon } from '../ui/icon.tsx';

/** How far a ping came: what it was, and each step with how it went; `ms` where it is known. */
export interface Ping {
  heading: string;
  ok: boolean;
  status: number | null;
  ms: number | null;
  reason: string | null;
  steps: readonly { step: EndpointStep; state: 'passed' | 'failed' | 'not reached'; ms: number | null }[];
}

const steps: Record<EndpointStep, { name: string; help: string }> = {
  url: { name: 'The URL is one that may be asked', help: 'It must begin with https:// and hold no user name or password.' },
  dns: {
    name: 'Its name leads to a public address',
    help: 'Look whether the name is spelt right, and that it does not lead to a private address.',
  },
  connect: { name: 'A connection opens', help: 'Look whether the endpoint runs, and whether a firewall lets its port through.' },
  tls: { name: 'The connection is encrypted', help: 'Its certificate must be valid for this name, with its whole chain.' },
  status: {
    name: 'It answers with status 200',
    help: 'Redirects do not count. 401 often means that the endpoint has another signing secret.',
  },
  body: { name: 'The answer is {"type":"pong"}', help: 'Answer a request of type “ping” with this JSON, and nothing else.' },
};
const order = Object.keys(steps) as EndpointStep[];
const icons = { passed: Check, failed: X, 'not reached': Minus };

/** The steps of a ping of which only the failed one was told; null when all passed. Plain http, where an operator allows it, has no encryption. */
export function stepsOf(url: string, failed: EndpointStep | null): Ping['steps'] {
  const gone = order.filter((step) => step !== 'tls' || !/^http:/i.test(url));
  const at = failed === null ? gone.length : gone.indexOf(failed);
  return gone.map((step, index) => ({ step, ms: null, state: index < at ? 'passed' : index === at ? 'failed' : 'not reached' }));
}

/** A ping, step by step, in words and marks. */
export function PingSteps({ ping: { heading, ok, status, ms, reason, steps: gone } }: { ping: Ping }): JSX.Element {
  const facts = [status === null ? 'no HTTP status' : `HTTP status ${status}`, ms !== null && `${ms} ms in all`].filter(Boolean).join(', ');
  return (
    <div class={`ping ${ok ? 'good' : 'bad'}`}>
      <p>
        <strong>{heading}</strong> ({facts})
      </p>
      <ol>
        {gone.map((one) => (
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
