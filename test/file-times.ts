import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Context } from 'mocha';

/*
 * Notes how long each test file takes, with its hooks, and how much CPU time of this process: a line of JSON for each in the file TEST_TIMES. The reporter
 * (test/reporter.mjs) shows the longest, because a test that only becomes slow tells of a fault, too.
 */
const { TEST_TIMES } = process.env;
let began = { ms: 0, cpu: process.cpuUsage() };

/** Hooks of mocha around each file. */
export const mochaHooks = {
  beforeAll(): void {
    began = { ms: performance.now(), cpu: process.cpuUsage() };
  },
  afterAll(this: Context): void {
    const file = this.test?.parent?.suites[0]?.file;
    if (!TEST_TIMES || !file) return;
    const { user, system } = process.cpuUsage(began.cpu);
    const line = { file: relative('.', file), seconds: (performance.now() - began.ms) / 1000, cpuSeconds: (user + system) / 1e6 };
    appendFileSync(TEST_TIMES, `${JSON.stringify(line)}\n`);
  },
};
