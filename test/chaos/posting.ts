import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '../harness/stack.ts';
import type { Ledger } from './ledger.ts';
import type { Channel } from './population.ts';
import { send } from './requests.ts';

/** A post that is not acknowledged after so long is reported, in milliseconds. */
const stuckMs = 10_000;
/** How much of what could not be posted in time is made up for, in milliseconds. */
const backlogMs = 2_000;
/** How soon a post that was not acknowledged is sent again, in milliseconds. */
const againMs = 100;

/** What posting in a channel needs. */
export interface Posting {
  stack: Stack;
  ledger: Ledger;
  /** The time between two posts of a channel, in milliseconds. */
  gapMs: number;
  isOver: () => boolean;
  report: (line: string) => void;
}

/**
 * Posts `<channel> <n>` into a channel at its pace, one message after another: each is sent to one API after the other, under one Idempotency-Key, until it is
 * acknowledged.
 */
export async function postInto({ id, as }: Channel, channel: number, { stack, ledger, gapMs, isOver, report }: Posting): Promise<void> {
  for (let n = 0, next = performance.now() + Math.random() * gapMs; !isOver(); n++) {
    await sleep(Math.max(0, next - performance.now()));
    const key = { 'Idempotency-Key': randomUUID() };
    for (let status = 0, tries = 0, reportedAt = performance.now(); status !== 201; tries++) {
      const url = `${stack.apiUrl(channel + tries)}/api/channels/${id}/messages`;
      ({ status } = await send('POST', url, as, { content: `${channel} ${n}` }, key));
      if (status !== 201) await sleep(againMs);
      if (status === 201 || performance.now() - reportedAt < stuckMs) continue;
      reportedAt = performance.now();
      report(`post ${n} in channel ${channel} is not acknowledged: status ${status}, ${tries + 1} tries`);
    }
    ledger.posted(channel);
    next = Math.max(next + gapMs, performance.now() - backlogMs);
  }
}
