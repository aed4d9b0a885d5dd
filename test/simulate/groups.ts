import type { Course } from './course.ts';
import { makePeople, makeWorlds, type Person, type ServerPlan, type World } from './world.ts';

/** How many servers each session of a group is in, unless it is one. */
export const serversEach = 10;

/** A group of sessions that are members of the same servers, or each of servers of its own. */
export interface Group {
  name: 'one' | 'ten' | 'own';
  people: Person[];
  plans: ServerPlan[];
}

/** Makes the groups of `sessions` people each, with servers that nobody else is in. */
export async function makeGroups({ lab }: Course, sessions: number): Promise<{ groups: Group[]; worlds: World[] }> {
  const { platform } = lab.setting;
  const all = await makePeople(platform, 3 * sessions);
  const peopleOf = (at: number): Person[] => all.slice(at * sessions, (at + 1) * sessions);
  const shared = (people: Person[], count: number): ServerPlan[] => Array.from({ length: count }, () => ({ members: people, channels: 1 }));
  const groups: Group[] = [
    { name: 'one', people: peopleOf(0), plans: shared(peopleOf(0), 1) },
    { name: 'ten', people: peopleOf(1), plans: shared(peopleOf(1), serversEach) },
    { name: 'own', people: peopleOf(2), plans: peopleOf(2).flatMap((person) => shared([person], serversEach)) },
  ];
  const worlds = await makeWorlds(
    platform,
    groups.flatMap(({ plans }) => plans),
  );
  return { groups, worlds };
}
