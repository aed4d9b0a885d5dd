import { ApiError, apiClient, type Call, withRetries } from './api-client.ts';
import type { Demo, DemoPerson, Notes } from './demo-notes.ts';
import { demoParts, type Part } from './demo-parts.ts';
import { callsOf, ensureGuest } from './seed-people.ts';

/** What exists before the parts are made. */
type Base = Pick<Demo, 'person' | 'server' | 'application'>;
type Made = Demo['made'];

/** The recorded parts, without those that were deleted together with the server or the application. */
export function withoutPartsOf(what: 'server' | 'application', made: Made = {}): Made {
  const lost = new Set([
    ...demoParts.filter(({ partOf = 'server' }) => partOf === what).map(({ name }) => name),
    ...(what === 'application' ? ['commands'] : []),
  ]);
  return Object.fromEntries(Object.entries(made).filter(([name]) => !lost.has(name)));
}

/** Makes each part of the demo that was never made; a part that somebody deleted stays deleted. */
export async function makeParts(baseUrl: string, notes: Notes, base: Base): Promise<Pick<Demo, 'guest' | 'made'>> {
  const isComplete = (): boolean => demoParts.every(({ name }) => name in (notes.known.made ?? {}));
  const { guest: known, made = {} } = notes.known;
  if (isComplete() && known && 'token' in known) return { guest: known, made };
  const guest = await ensureGuest(baseUrl, notes);
  const anonymous = withRetries(apiClient(baseUrl));
  const bot = withRetries(apiClient(baseUrl, `Bot ${base.application.token}`));
  const callers = { person: callsOf(baseUrl, base.person), guest: callsOf(baseUrl, guest), bot, anonymous };
  for (const part of demoParts) {
    const { made: before = {} } = notes.known;
    if (!(part.name in before))
      notes.keep({ made: { ...before, [part.name]: await make(part, callers[part.by], idsOf(base, guest, before)) } });
  }
  return { guest, made: notes.known.made ?? {} };
}

const idsOf = ({ person, server, application }: Base, guest: DemoPerson, made: Made): Made => ({
  ...made,
  person: person.id,
  guest: guest.id,
  bot: application.botId,
  server: server.id,
  general: server.channelId,
  application: application.id,
});

/** Makes one part; null if something it needs was deleted. Its Idempotency-Key is its name, so a run interrupted after the call creates nothing twice. */
async function make({ name, call, body, headers, toValue = ({ id }) => id }: Part, as: Call, ids: Made): Promise<string | null> {
  const placeholders = [...`${call}${JSON.stringify(body)}`.matchAll(/\{([a-z-]+)\}/g)].map(([, used = '']) => used);
  for (const placeholder of placeholders) {
    if (ids[placeholder] === undefined) throw new Error(`the demo part ${name} uses {${placeholder}}, which no earlier part defines`);
    if (ids[placeholder] === null) return null;
  }
  const fill = (text: string): string => text.replace(/\{([a-z-]+)\}/g, (_, placeholder: string) => ids[placeholder] ?? '');
  const [method = '', path = ''] = fill(call).split(' ');
  const sent: unknown = body && JSON.parse(fill(JSON.stringify(body)));
  try {
    const response = await as<Parameters<typeof toValue>[0] | undefined>(method, path, sent, {
      ...(method === 'POST' && { 'Idempotency-Key': `demo-${name}` }),
      ...headers,
    });
    return (response && toValue(response)) ?? '';
  } catch (error) {
    if (error instanceof ApiError && [400, 403, 404].includes(error.status)) return null;
    throw error;
  }
}
