import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { readClientAddress } from '../../lib/base/client-address.ts';
import { limits } from '../../lib/base/limits.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** User `ops`, or a name of an operator for the audit log, such as `ops.ada`. All have the same password. */
const userPattern = /^ops(?:\.[a-z0-9_-]{1,32})?$/;

/** How many addresses are remembered. */
const addressesMax = 10_000;

/**
 * The user and the password of Basic auth; null if the header is missing or malformed, and `not UTF-8` if their bytes are not: they would all be read as the same
 * text. Passwords are compared in the form NFC, because devices type the same letters in different forms.
 */
function readCredentials(ctx: Context): { user: string; password: string } | 'not UTF-8' | null {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(ctx.get('Authorization')) ?? [];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) return 'not UTF-8';
  const [user = '', ...rest] = bytes.toString().split(':');
  return { user, password: rest.join(':').normalize('NFC') };
}

/**
 * Requires user `ops` and OPS_PASSWORD by Basic auth, else answers 401, or 400 if they are not in UTF-8. An address that has tried too many different passwords gets 429 for all until some time
 * after the first. The same wrong password counts once, as browsers and scrapers repeat it. Without OPS_PASSWORD everyone passes, because the pages are on
 * loopback only then. Sets `ctx.state.operator` to who is written to the audit log.
 */
export function requirePassword({ config: { OPS_PASSWORD, TRUST_PROXY }, now }: Pick<OpsPlatform, 'config' | 'now'>): Middleware {
  const expected = digest(OPS_PASSWORD.normalize('NFC'));
  const wrong = new LRUCache<string, Set<string>>({ max: addressesMax, ttl: limits.opsPasswordWindowMs, ttlResolution: 0, perf: { now } });
  return async (ctx, next) => {
    const address = readClientAddress(ctx.req, TRUST_PROXY);
    const credentials = OPS_PASSWORD === '' ? { user: 'ops', password: '' } : readCredentials(ctx);
    if (credentials === 'not UTF-8') {
      ctx.status = 400;
      ctx.body = 'Send the user and the password in UTF-8.\n';
      return;
    }
    const tried = wrong.get(address) ?? new Set();
    if (credentials && tried.size >= limits.opsPasswordTries) {
      const seconds = Math.ceil(wrong.getRemainingTTL(address) / 1000);
      ctx.status = 429;
      ctx.set('Retry-After', String(seconds));
      ctx.body = `Too many wrong passwords from your address. Try again in ${seconds} s.\n`;
      return;
    }
    // Digests have the same length, so the duration of the comparison reveals nothing.
    if (credentials && timingSafeEqual(digest(credentials.password), expected) && userPattern.test(credentials.user)) {
      ctx.state.operator = `${credentials.user} from ${address}`;
      return next();
    }
    if (credentials) {
      if (tried.size === 0) wrong.set(address, tried);
      tried.add(digest(`${credentials.user}:${credentials.password}`).toString('base64'));
    }
    ctx.status = 401;
    ctx.set('WWW-Authenticate', 'Basic realm="Parlance operators", charset="UTF-8"');
    ctx.body = 'Log in as user ops with the password in OPS_PASSWORD.\n';
  };
}
