import { forEachLimit } from '../../../lib/base/for-each-limit.ts';
import type { ProcessAddress } from '../../../lib/store/redis/process-addresses.ts';
import { parseExposition, type Sample } from './exposition.ts';
import { type ProcessReading, wantedNames } from './reading.ts';

/** How long a process may take to answer, in milliseconds. */
const timeoutMs = 2_000;
/** The maximum size of an answer, and how many processes are asked at once. */
const maxBytes = 4 * 1024 * 1024;
const atOnce = 32;

/** Reads the text of a response; rejects if it is too long. */
async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes of metrics`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The samples of Prometheus text that the overview reads. With `process` they get that label, which tells processes of one role apart. */
export const readSamples = (text: string, process?: string): Sample[] =>
  parseExposition(text, wantedNames).map((sample) =>
    process === undefined ? sample : { ...sample, labels: { ...sample.labels, process } },
  );

/** Asks processes for their metrics, 2 s each at most. Never rejects: a process that does not answer has no samples. */
export async function scrapeProcesses(addresses: readonly ProcessAddress[]): Promise<{ processes: ProcessReading[]; samples: Sample[] }> {
  const samplesOf = new Map<string, Sample[]>();
  await forEachLimit(addresses, atOnce, async ({ name, url }) => {
    try {
      const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
      if (response.status === 200) samplesOf.set(name, readSamples(await readText(response), name));
      else await response.body?.cancel();
    } catch {
      // The overview names the processes that did not answer.
    }
  });
  return {
    processes: addresses.map(({ name, url }) => ({ name, url, isUp: samplesOf.has(name) })),
    samples: [...samplesOf.values()].flat(),
  };
}
