import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '../harness/stack.ts';
import type { Ledger } from './ledger.ts';
import type { Channel } from './population.ts';
import { call } from './requests.ts';

/** A post that is not acknowledged within this time is reported, in milliseconds. */
const stuckMs = 10_000;
/** The maximum delay that is made up for with faster posts, in milliseconds. */
const backlogMs = 2_000;
/** The pause before a post that was not acknowledged is sent again, in milliseconds. */
const againMs = 100;

/** What is needed to post in a channel. */
export interface Posting {
  stack: Stack;
  ledger: Ledger;
  /** The time between two posts of a channel, in milliseconds. */
  gapMs: number;
  isOver: () => boolean;
  report: (line: string) => void;
}

/**
 * Posts `<channel> <n>` into a channel at a constant rate, one message after another. Each is sent under one Idempotency-Key to the APIs in turn, until it is
 * acknowledged.
 */
export async function postInto({ id, as }: Channel, channel: number, { stack, ledger, gapMs, isOver, report }: Posting): Promise<void> {
  for (let n = 0, next = performance.now() + Math.random() * gapMs; !isOver(); n++) {
    await sleep(Math.max(0, next - performance.now()));
    const key = { 'Idempotency-Key': randomUUID() };
    for (let status = 0, tries = 0, reportedAt = performance.now(); status !== 201; tries++) {
      const url = `${stack.apiUrl(channel + tries)}/api/channels/${id}/messages`;
      ({ status } = await call('POST', url, as, { content: `${channel} ${n}` }, key));
      ledger.answered(status);
      if (status !== 201) await sleep(againMs);
      if (status === 201 || performance.now() - reportedAt < stuckMs) continue;
      reportedAt = performance.now();
      report(`post ${n} in channel ${channel} is not acknowledged: status ${status}, ${tries + 1} tries`);
    }
    ledger.posted(channel);
    next = Math.max(next + gapMs, performance.now() - backlogMs);
  }
}
