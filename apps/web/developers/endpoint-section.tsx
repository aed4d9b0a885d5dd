import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Application } from '../../../lib/contract/application.ts';
import type { EndpointStep, EndpointTest } from '../../../lib/contract/endpoint.ts';
import { ApiError, asApiError, call, path } from '../api/call.ts';
import { Button } from '../ui/button.tsx';
import { Form, TextField, useForm } from '../ui/form.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { changeApplication } from './applications.ts';
import { pagePath } from './frame.tsx';
import { type Ping, PingSteps, stepsOf } from './ping-steps.tsx';

/** The details in the error for a URL that was not verified. */
interface Unverified {
  step: EndpointStep;
  status: number | null;
  ms: number;
  message: string;
}

/** Returns the result of the failed test request from the error; null for other errors. */
function pingOf(error: ApiError, url: string): Ping | null {
  const details = error.code === 'endpoint_unverified' ? (error.errors[0] as Partial<Unverified> | undefined) : undefined;
  if (!details?.step) return null;
  const { step, status = null, ms = null, message = '' } = details;
  // The step, the status and the time are shown separately, so they are removed from the message.
  const reason = message.replace(/^at the step `\w+`: /, '').replace(/ \([^()]*\)$/, '');
  return { heading: 'Not saved, because the test request failed.', ok: false, status, ms, reason, steps: stepsOf(url, step) };
}

/** The URL to which interactions are posted. It is saved only if it answers a test request. It can be tested again and removed. */
export function EndpointSection({ application }: { application: Application }): JSX.Element {
  const { id, interactionsEndpointUrl: saved } = application;
  const form = useForm({ interactionsEndpointUrl: saved ?? '' });
  const { task } = form;
  const ping = useSignal<Ping | null>(null);
  const newUrl = form.now.interactionsEndpointUrl.trim();
  const save = async (): Promise<void> => {
    ping.value = null;
    try {
      await changeApplication(id, { interactionsEndpointUrl: newUrl === '' ? null : newUrl });
      form.set({ interactionsEndpointUrl: newUrl });
      const heading = 'Saved. The endpoint responded correctly.';
      if (newUrl !== '') ping.value = { heading, ok: true, status: 200, ms: null, reason: null, steps: stepsOf(newUrl, null) };
    } catch (error) {
      ping.value = pingOf(asApiError(error), newUrl);
      if (!ping.value) throw error;
    }
  };
  const test = (): void => {
    ping.value = null;
    void task.run(async () => {
      const found = await call<EndpointTest>('POST', path`/api/applications/${id}/interactions-endpoint/test`);
      const heading = found.ok ? 'The endpoint responded correctly.' : 'The test request failed.';
      const rest = found.step === null ? [] : stepsOf(saved ?? '', found.step).filter((one) => one.state === 'not reached');
      const steps = found.steps.map(({ step, ok, ms }) => ({ step, ms, state: ok ? ('passed' as const) : ('failed' as const) }));
      ping.value = { ...found, heading, steps: [...steps, ...rest] };
    });
  };
  const isSame = newUrl === (saved ?? '');
  useUnsaved(!isSame);
  const testButton = (
    <Button disabled={saved === null || !isSame} busy={task.busy} onClick={test}>
      Send test request
    </Button>
  );
  return (
    <section class="portal-section" aria-labelledby="endpoint">
      <h2 id="endpoint">Interactions Endpoint</h2>
      <p>
        If you set a URL, slash commands are sent to it instead of over the gateway. The URL must be public, use https and respond within 3
        seconds. It is saved only if it answers a signed test request. See the{' '}
        <a href={`${pagePath(id, '/first-bot')}?way=endpoint`}>example endpoint</a>. While you develop it on your machine, leave the URL
        empty and run <code>npm run forward -- {id}</code> in a clone of Parlance: it posts the interactions to your machine.
      </p>
      <Form form={form} run={save} action="Save" disabled={isSame} aside={testButton}>
        <TextField
          label="Interactions Endpoint URL"
          hint="Leave empty to receive interactions over the gateway."
          type="url"
          placeholder="https://bot.example.org/interactions"
          autocomplete="off"
          {...form.field('interactionsEndpointUrl')}
          onValue={(interactionsEndpointUrl) => {
            form.set({ interactionsEndpointUrl });
            ping.value = null;
          }}
        />
        {newUrl === '' && <p class="hint">Save a URL to send test requests to it.</p>}
        {newUrl !== '' && !isSame && <p class="hint">Save the URL first. Saving it sends a test request, too.</p>}
      </Form>
      <div role="status">
        {task.busy && <p class="soft">Sending a test request…</p>}
        {ping.value && <PingSteps ping={ping.value} />}
      </div>
    </section>
  );
}
