import { randomBytes } from 'node:crypto';
import { everyoneDefault, permissionBits } from '../../../lib/base/permissions.ts';
import { connectBot } from '../../harness/bot-client.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import type { Handshakes } from '../bare/handshakes.ts';
import type { Load } from '../bare/load.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';
import { victimRow } from '../victim.ts';
import { connectProbe } from './gateway-flood.ts';

/** How many times slower a victim may be during an attack. */
const most = { request: 3, handshake: 3, event: 3 };
const [victimAddress, attackerAddress] = ['203.0.113.9', '198.51.100.7'];
/** Channels of the server whose visibility the attacker changes. */
const channels = 400;

/** A bot that reads messages 40 times a second while 64 connections send requests that are refused. */
async function requestRows(bench: Bench, setting: Setting, [attacker, victim]: readonly [SeededServer, SeededServer]): Promise<Row[]> {
  const api = setting.stack.apiUrl();
  const [own, other] = await Promise.all([startHelper('load', {}), startHelper('load', {})]);
  const path = (seeded: SeededServer): string => `${api}/api/channels/${seeded.channelIds[0]}/messages`;
  const reads: Omit<Load, 'seconds'> = {
    method: 'GET',
    urls: [path(victim)],
    authorization: `Bot ${victim.bots[0]?.token}`,
    headers: { 'X-Forwarded-For': victimAddress },
    clients: 1,
    pauseMs: 25,
  };
  const attack = { authorization: `Bot ${attacker.bots[0]?.token}`, headers: { 'X-Forwarded-For': attackerAddress }, clients: 64 };
  const unknown = (count: number): string[] => Array.from({ length: count }, () => randomBytes(16).toString('hex'));
  const embeds = Array.from({ length: 8_700 }, (_, at) => ({ title: `some title ${at}`, description: 'd'.repeat(60), color: at }));
  const attacks: Record<string, Omit<Load, 'seconds'>> = {
    '64 bodies of 1 MiB that are refused': { ...attack, method: 'POST', urls: [path(attacker)], body: JSON.stringify({ embeds }) },
    'posts by webhook tokens that do not exist': {
      ...attack,
      method: 'POST',
      urls: unknown(1_000).map((token) => `${api}/api/webhooks/${attacker.serverId}/${token}`),
      body: '{"content":"x"}',
    },
    'requests for files that do not exist': { ...attack, method: 'GET', urls: unknown(1_000).map((key) => `${api}/files/${key}/x.png`) },
  };
  try {
    const rows: Row[] = [];
    for (const [name, load] of Object.entries(attacks))
      rows.push(
        await victimRow(bench, setting, [own, other], {
          name: `GET messages during ${name}, p99`,
          victim: reads,
          attack: load,
          most: most.request,
        }),
      );
    return rows;
  } finally {
    await Promise.all([own.close(), other.close()]);
  }
}

/** Bots that identify 20 times a second while many sockets of one account do handshakes. */
async function handshakeRows(bench: Bench, setting: Setting, [attacker, victim]: readonly [SeededServer, SeededServer]): Promise<Row[]> {
  const [own, other] = await Promise.all([startHelper('handshakes', {}), startHelper('handshakes', {})]);
  const url = setting.stack.gatewayUrl();
  const identifies: Omit<Handshakes, 'seconds'> = {
    url,
    kind: 'identify',
    tokens: victim.bots.map(({ token }) => token),
    address: victimAddress,
    clients: 1,
    pauseMs: 50,
  };
  const attack = { url, tokens: [attacker.bots[0]?.token ?? ''], address: attackerAddress, pauseMs: 0 };
  try {
    const rows: Row[] = [];
    for (const [kind, clients] of [
      ['resume', 24],
      ['identify', 16],
    ] as const)
      rows.push(
        await victimRow(bench, setting, [own, other], {
          name: `identify while ${clients} sockets of one account ${kind}, p99`,
          victim: identifies,
          attack: { ...attack, kind, clients },
          most: most.handshake,
        }),
      );
    return rows;
  } finally {
    await Promise.all([own.close(), other.close()]);
  }
}

/** The time from the request of a message to its event in another server while View Channel of @everyone is toggled in a server with 400 channels. */
async function visibilityRow(bench: Bench, setting: Setting, [attacker, victim]: readonly [SeededServer, SeededServer]): Promise<Row> {
  const probe = await connectProbe(setting, victim);
  const listeners = attacker.bots.map(({ token }) =>
    connectBot({ urlOf: () => setting.stack.gatewayUrl(), token, onEvent: () => undefined }),
  );
  await Promise.all(listeners.map(({ ready }) => ready));
  const url = `${setting.stack.apiUrl()}/api/servers/${attacker.serverId}/roles/${attacker.serverId}`;
  const headers = {
    Authorization: `Bearer ${attacker.ownerToken}`,
    'Content-Type': 'application/json',
    'X-Forwarded-For': attackerAddress,
  };
  let [isOn, changes, refused] = [false, 0, 0];
  const toggle = async (): Promise<void> => {
    for (let at = 0; isOn; at++) {
      const permissions = at % 2 ? everyoneDefault : everyoneDefault & ~permissionBits['View Channel'];
      const { ok } = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ permissions }) });
      if (ok) changes++;
      else refused++;
    }
  };
  const [attacked, alone]: [number[], number[]] = [[], []];
  try {
    await probe.round(1);
    for (let round = 0; round < bench.rounds; round++) {
      alone.push(await probe.round(bench.seconds));
      isOn = true;
      const toggling = toggle();
      attacked.push(await probe.round(bench.seconds));
      isOn = false;
      await toggling;
      bench.log(
        `  View Channel: p99 ${alone.at(-1)?.toFixed(1)} → ${attacked.at(-1)?.toFixed(1)} ms; ${changes} changes, ${refused} refused`,
      );
    }
    return multipleRow(
      `POST → event while View Channel is toggled in ${channels} channels of another server, p99`,
      'ms',
      attacked,
      alone,
      most.event,
    );
  } finally {
    await Promise.all([probe.close(), ...listeners.map((one) => one.close())]);
  }
}

/** Runs `measure` on two servers, the attacker's and the victims', with the settings `overrides`. */
async function withServers<T>(
  bench: Bench,
  overrides: Record<string, string>,
  measure: (bench: Bench, setting: Setting, servers: readonly [SeededServer, SeededServer]) => Promise<T>,
): Promise<T> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 }, { TRUST_PROXY: '1', ...overrides });
  try {
    const attacker = await seedServer(setting.platform, { bots: 5, channels });
    return await measure(bench, setting, [attacker, await seedServer(setting.platform, { bots: 20, channels: 1 })]);
  } finally {
    await setting.close();
  }
}

/** What others notice of attacks by one account or address: their p99 with and without the attack. */
export const attackRows = async (bench: Bench): Promise<Row[]> => [
  ...(await withServers(bench, { RATE_LIMIT: '50/100' }, requestRows)),
  ...(await withServers(bench, {}, handshakeRows)),
  await withServers(bench, {}, visibilityRow),
];
