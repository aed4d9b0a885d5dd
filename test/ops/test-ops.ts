import type { Logger } from 'pino';
import { startOps } from '../../apps/ops/start.ts';
import { createLog } from '../../lib/base/log.ts';
import { type OpsPlatform, openOpsPlatform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';

/** The password of the pages under test. */
export const opsPassword = 'pässword:1';

/** A response of the operators' pages. */
export interface OpsAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** What a request to the operators' pages has besides its method and path. A `form` is sent as a browser sends it. */
export interface OpsRequest {
  form?: Record<string, string>;
  user?: string;
  password?: string | null;
  headers?: Record<string, string>;
  body?: string;
}

/** An API under test with the operators' pages on its stores. */
export interface TestOps extends TestApi {
  opsUrl: string;
  /** The platform of the pages, for tests that interfere with it. */
  opsPlatform: OpsPlatform;
  /** Sends a request to the pages. By default user `ops` with the right password, from a page of the same origin. */
  ops(method: string, path: string, request?: OpsRequest): Promise<OpsAnswer>;
}

/** The options of the pages under test: `now` is their clock, `log` their log. */
interface TestOpsOptions {
  OPS_PASSWORD?: string;
  TRUST_PROXY?: string;
  now?: () => number;
  log?: Logger;
}

/** Starts an API in this process, and the operators' pages on its stores. */
export async function startTestOps({ OPS_PASSWORD = opsPassword, TRUST_PROXY = '0', ...options }: TestOpsOptions = {}): Promise<TestOps> {
  const api = await startTestApi({ OPS_PASSWORD, TRUST_PROXY });
  const platform = await openOpsPlatform(api.platform.config, options.log ?? createLog('ops', 'silent'));
  const pages = await startOps({ ...platform, ...(options.now ? { now: options.now } : {}) });
  const opsUrl = `http://127.0.0.1:${pages.port}`;
  return {
    ...api,
    opsUrl,
    opsPlatform: platform,
    async ops(method, path, { form, user = 'ops', password = OPS_PASSWORD, headers, body } = {}) {
      const sent = form ? new URLSearchParams(form).toString() : body;
      const response = await fetch(opsUrl + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(password === null ? {} : { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }),
          ...(method === 'GET' ? {} : { Origin: opsUrl, 'Content-Type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    async close() {
      await pages.close();
      await platform.close();
      await api.close();
    },
  };
}
