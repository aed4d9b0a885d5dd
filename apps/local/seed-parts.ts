import { ApiFault, apiClient, type Call, patient } from './api-client.ts';
import type { Demo, DemoPerson, Notes } from './demo-notes.ts';
import { type Part, show } from './demo-show.ts';
import { callsOf, ensureGuest } from './seed-people.ts';

/** What exists before the parts are made. */
type Base = Pick<Demo, 'person' | 'server' | 'application'>;
type Made = Demo['made'];

/** The recorded parts, without those that were lost together with the server or the application. */
export function afterLosing(what: 'server' | 'application', made: Made = {}): Made {
  const lost = new Set([
    ...show.filter(({ of = 'server' }) => of === what).map(({ name }) => name),
    ...(what === 'application' ? ['commands'] : []),
  ]);
  return Object.fromEntries(Object.entries(made).filter(([name]) => !lost.has(name)));
}

/** Makes each part of the demo that was never made; a part that somebody deleted stays deleted. */
export async function makeShow(baseUrl: string, notes: Notes, base: Base): Promise<Pick<Demo, 'guest' | 'made'>> {
  const isWhole = (): boolean => show.every(({ name }) => name in (notes.known.made ?? {}));
  const { guest: known, made = {} } = notes.known;
  if (isWhole() && known && 'token' in known) return { guest: known, made };
  const guest = await ensureGuest(baseUrl, notes);
  const nobody = patient(apiClient(baseUrl));
  const bot = patient(apiClient(baseUrl, `Bot ${base.application.token}`));
  const callers = { person: callsOf(baseUrl, base.person), guest: callsOf(baseUrl, guest), bot, nobody };
  for (const part of show) {
    const { made: sofar = {} } = notes.known;
    if (!(part.name in sofar))
      notes.keep({ made: { ...sofar, [part.name]: await make(part, callers[part.by], idsOf(base, guest, sofar)) } });
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

/** Makes one part; null if something it needs is gone. Its Idempotency-Key is its name, so a run interrupted after the call creates nothing twice. */
async function make({ name, call, body, headers, calledBy = ({ id }) => id }: Part, as: Call, ids: Made): Promise<string | null> {
  const holes = [...`${call}${JSON.stringify(body)}`.matchAll(/\{([a-z-]+)\}/g)].map(([, hole = '']) => hole);
  for (const hole of holes) {
    if (ids[hole] === undefined) throw new Error(`the demo's part ${name} names ${hole}, which is none before it`);
    if (ids[hole] === null) return null;
  }
  const fill = (text: string): string => text.replace(/\{([a-z-]+)\}/g, (_, hole: string) => ids[hole] ?? '');
  const [method = '', path = ''] = fill(call).split(' ');
  const sent: unknown = body && JSON.parse(fill(JSON.stringify(body)));
  try {
    const answer = await as<Parameters<typeof calledBy>[0] | undefined>(method, path, sent, {
      ...(method === 'POST' && { 'Idempotency-Key': `demo-${name}` }),
      ...headers,
    });
    return (answer && calledBy(answer)) ?? '';
  } catch (fault) {
    if (fault instanceof ApiFault && [400, 403, 404].includes(fault.status)) return null;
    throw fault;
  }
}
