import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../harness/stack.ts';

/** A change of one compiled file. `find` is in it exactly once. */
interface Change {
  file: string;
  find: string;
  replace: string;
}

/**
 * A change that breaks a rule of docs/delivery.md#rules. `faults`: those under which `npm run order` sees it; none without it. `partitions`: those of the log
 * with which it does; one without it. `delay`: another change, which breaks nothing by itself, but makes what must go wrong for it frequent.
 */
interface Break extends Change {
  rule: number;
  faults?: OrderFaults;
  partitions?: number;
  delay?: Change;
}

/** The faults of a run of `npm run order`: gateways that drain, subscriptions that are cut, workers that are paused, or all faults of processes and stores. */
export type OrderFaults = 'none' | 'drains' | 'cuts' | 'pauses' | 'all';

/** Every third batch of changes is relayed 3 s after it was read. */
const slowRelays: Change = {
  file: 'lib/domain/relay/relay.js',
  find: 'const appendedBatch = await relayBatch',
  replace: "if (outbox === 'server' && Math.random() < 0.3) await sleep(3_000); const appendedBatch = await relayBatch",
};

/** What is published in every second partition comes 0.3 s late. */
const slowPartitions: Change = {
  file: 'lib/store/redis/log/subscriber.js',
  find: 'listener.onMessage(channel, message);',
  replace: 'setTimeout(() => listener.onMessage(channel, message), (keys.partitionOfChannel(channel) % 2) * 300);',
};

/** A gateway node takes 0.3 s longer to load the rules of a server. */
const slowLoads: Change = {
  file: 'apps/gateway/rules.js',
  find: 'const found = (await reading).get(serverId);',
  replace: 'const found = (await reading).get(serverId); await new Promise((done) => setTimeout(done, 300));',
};

/** Rules that a build can break, to prove that a tester finds out. */
const breaks = {
  'no-catching-up': {
    rule: 1,
    faults: 'cuts',
    delay: slowLoads,
    file: 'apps/gateway/rules.js',
    find: 'const later = place.tail.filter(({ head }) => head.number > from);',
    replace: 'const later = [];',
  },
  'no-view-events': {
    rule: 2,
    file: 'apps/gateway/visibility.js',
    find: 'const affected = isJoinOrLeave(change) ? [] : [...getAffected(change, rules.channels.keys())];',
    replace: 'const affected = [];',
  },
  'no-change-order': {
    rule: 3,
    delay: slowRelays,
    file: 'lib/domain/relay/relay.js',
    find: "isOfChanges ? undefined : 'now'",
    replace: 'undefined',
  },
  'no-join-ids': {
    rule: 4,
    partitions: 4,
    delay: slowPartitions,
    file: 'apps/gateway/visibility.js',
    find: 'return member?.joinId === places.get(place) ? member : null;',
    replace: 'return member;',
  },
  'no-current-rules': {
    rule: 5,
    file: 'apps/gateway/replay.js',
    find: 'if (!isSent(place, session, event, hidden))',
    replace: 'if (false)',
  },
  'no-place-positions': {
    rule: 6,
    file: 'lib/store/redis/log/position.js',
    find: "const [text = '', ...places] = value.split('~');",
    replace: "const [text = '', ...places] = value.split('~'); if (places.length > 0) return null;",
  },
  'no-progress': {
    rule: 7,
    file: 'apps/gateway/replay.js',
    find: 'if (isComplete && !wasBehind)',
    replace: 'if (false)',
  },
  'one-holds-others': {
    rule: 8,
    file: 'apps/gateway/rules.js',
    find: 'const reading = loadStoredRules(node.platform, loads);',
    replace:
      'const reading = loadStoredRules(node.platform, loads); for (const until = performance.now() + 20_000; performance.now() < until; );',
  },
  'no-fence': {
    rule: 9,
    file: 'lib/store/redis/log/append.js',
    find: "then return { 'relayed' } end",
    replace: 'then end',
    delay: slowRelays,
  },
  'no-joins-while-draining': {
    rule: 10,
    faults: 'drains',
    file: 'apps/gateway/places.js',
    find: 'place.sessions.add(session);',
    replace: 'if (!node.isDraining) place.sessions.add(session);',
  },
  'no-replay': {
    rule: 6,
    file: 'apps/gateway/replay.js',
    find: 'sent += await replayRound(node, session, hidden);',
    replace: 'session.placeNumbers = noPlaceNumbers, session.partitionNumbers = node.lanes.map(({ sentNumber }) => sentNumber);',
  },
} satisfies Record<string, Break>;

/** The faults under which `npm run order` sees what a build breaks. */
export const faultsOf = (name: BreakName): OrderFaults => (breaks[name] as Break).faults ?? 'none';

/** Of how many partitions the log is with which `npm run order` sees what a build breaks. */
export const partitionsOf = (name: BreakName): number => (breaks[name] as Break).partitions ?? 1;

export type BreakName = keyof typeof breaks;
export const breakNames = Object.keys(breaks) as BreakName[];

/** A build of this version in which a rule is broken, in a folder for `startStack`; without a name, this version as it is. */
export async function breakBuild(name?: BreakName): Promise<{ folder?: string; remove: () => Promise<void> }> {
  if (name === undefined) return { remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'parlance-broken-'));
  for (const entry of await readdir(root)) if (entry !== 'dist') await symlink(join(root, entry), join(folder, entry));
  await cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  const { delay, ...broken }: Break = breaks[name];
  for (const { file, find, replace } of delay ? [broken, delay] : [broken]) {
    const path = join(folder, 'dist', file);
    const parts = (await readFile(path, 'utf8')).split(find);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times what ${name} replaces`);
    await writeFile(path, parts.join(replace));
  }
  return { folder: `${folder}/`, remove: () => rm(folder, { recursive: true, force: true }) };
}
