import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientsAsk } from './clients.ts';
import { addCpu, type Cpu, mapParts, noCpu, roles } from './costs.ts';
import { type Course, setCost } from './course.ts';
import { type Group, makeGroups, serversEach } from './groups.ts';
import type { Sample } from './lab.ts';
import { callsIn } from './world.ts';

/** How often clients send heartbeats, in milliseconds. The difference is what is measured. */
const [fastMs, slowMs] = [1_000, 20_000];
/** The sessions of a group, and how many of them begin or resume in a second. */
const groupSessions = 120;
const perSec = 30;
const missed = 10;
/** How long processes rest before their memory or their CPU time without load is measured, in milliseconds. */
const restMs = 2_000;
/** Samples without load are this many times as long as others, because they have so little to measure. */
const idleTimes = 2;

/** The CPU time per second without load in `course`, in milliseconds. */
async function restOf({ lab, bench }: Course): Promise<Cpu> {
  await sleep(restMs);
  const { cpu, seconds } = await lab.sample(() => sleep(idleTimes * bench.seconds * 1000));
  return mapParts((part) => cpu[part] / seconds);
}

/** Costs of open sessions: those with frequent and with rare heartbeats, compared with each other and with none. The sessions of the audience are open. */
export async function measureHeartbeats(course: Course): Promise<void> {
  const { lab, bench, people } = course;
  const at = async (ms: number): Promise<{ cpu: Cpu; perSec: number }> => {
    await lab.ask({ kind: 'heartbeat', ms });
    await sleep(restMs);
    const { cpu, seconds, result } = await lab.sample(() => lab.act([], idleTimes * bench.seconds));
    return { cpu: mapParts((part) => cpu[part] / seconds), perSec: result.heartbeats / result.seconds };
  };
  const fast = await at(fastMs);
  const slow = await at(slowMs);
  const beat = mapParts((part) => (fast.cpu[part] - slow.cpu[part]) / (fast.perSec - slow.perSec));
  setCost(course, 'heartbeat', beat);
  await lab.ask({ kind: 'end', group: 'audience' });
  const none = await restOf(course);
  setCost(
    course,
    'sessionSecond',
    mapParts((part) => (slow.cpu[part] - none[part] - slow.perSec * beat[part]) / people.audience.length),
  );
  course.costs.bytes.heartbeat = '{"op":11,"d":null}'.length + 2;
}

/** The CPU time of each session of a group in `samples`, without what is used anyway. */
const perSession = (samples: readonly Sample<unknown>[], rest: Cpu): Cpu =>
  mapParts((part) => samples.reduce((sum, { cpu, seconds }) => sum + cpu[part] - rest[part] * seconds, 0) / groupSessions);

/** Costs of sessions that begin, end and resume, by groups that differ in the number of servers and in who shares them. */
export async function measureSessions(course: Course): Promise<void> {
  const { lab, bench } = course;
  const { groups, worlds } = await makeGroups(course, groupSessions);
  const ask = (message: ClientsAsk): Promise<Sample<void>> => lab.sample(() => lab.ask(message));
  const connect = ({ name, people: members }: Group): ClientsAsk => ({
    kind: 'connect',
    group: name,
    urls: lab.gatewayUrls().slice(0, 1),
    tokens: members.map(({ token }) => token),
    perSec,
  });
  for (const group of groups) {
    await lab.ask(connect(group));
    await lab.ask({ kind: 'end', group: group.name });
  }
  await lab.add('gateway');
  const [home = '', other = ''] = lab.gatewayUrls();
  const rest = await restOf(course);
  const begun: Record<Group['name'], Cpu> = { one: noCpu(), ten: noCpu(), own: noCpu() };
  const resumed: Record<Group['name'], Cpu> = { one: noCpu(), ten: noCpu(), own: noCpu() };
  for (const group of groups) {
    await sleep(restMs);
    const began = await ask(connect(group));
    // The first time warms up the other node, the second one brings the sessions back.
    for (const url of [other, home]) await lab.ask({ kind: 'resume', group: group.name, urls: [url], perSec });
    resumed[group.name] = perSession([await ask({ kind: 'resume', group: group.name, urls: [other], perSec })], rest);
    if (group.name === 'one') {
      const cut = await ask({ kind: 'cut', group: 'one' });
      const calls = callsIn(lab.setting.stack.apiUrl(), 'post', worlds.slice(0, 1), group.people.slice(0, 1));
      const { done } = await lab.act([{ kind: 'calls', name: 'post', perSec: missed, calls, order: 'turn' }], bench.seconds);
      const back = await ask({ kind: 'resume', group: 'one', urls: [home], perSec });
      const withReplay = perSession([cut, back], rest);
      setCost(
        course,
        'replay',
        mapParts((part) => (withReplay[part] - resumed.one[part]) / Math.max(1, done.post ?? 0)),
      );
    }
    const ended = await ask({ kind: 'end', group: group.name });
    begun[group.name] = perSession([began, ended], rest);
  }
  const each = (values: Record<Group['name'], Cpu>): Cpu => mapParts((part) => (values.ten[part] - values.one[part]) / (serversEach - 1));
  const [connectPlace, resumePlace] = [each(begun), each(resumed)];
  setCost(course, 'connectPlace', connectPlace);
  setCost(course, 'connect', addCpu(begun.one, connectPlace, -1));
  setCost(course, 'resumePlace', resumePlace);
  setCost(course, 'resume', addCpu(resumed.one, resumePlace, -1));
  setCost(
    course,
    'openPlace',
    mapParts((part) => (begun.own[part] - begun.ten[part]) / serversEach),
  );
}

/** What a process of each role uses without load: its own CPU time, and the CPU time of the stores that another process of the role adds. */
export async function measureIdle(course: Course): Promise<void> {
  const { lab, costs } = course;
  const before = await restOf(course);
  for (const role of roles) {
    const processes = role === 'gateway' ? 2 : 1;
    const alone = role === 'gateway' ? before : await restOf(course);
    await lab.add(role);
    await sleep(restMs);
    const both = await restOf(course);
    const added = mapParts((part) => (part === 'redis' || part === 'database' ? Math.max(0, both[part] - alone[part]) : 0));
    costs.idle[role] = { ...added, [role]: both[role] / (processes + 1) };
    costs.memory.process[role] = await lab.resident(role);
  }
}
