import type { Bench } from '../bench/setting.ts';
import { type Action, actions, type Costs, type Cpu, mapParts, type Part } from './costs.ts';
import type { Lab } from './lab.ts';
import type { Person, World } from './world.ts';

/** What the measurement of costs needs to run. */
export interface Course {
  bench: Bench;
  lab: Lab;
  people: { posters: Person[]; audience: Person[]; strangers: Person[] };
  worlds: Record<'quiet' | 'busy' | 'hidden' | 'small' | 'large', World>;
  costs: Costs;
}

/** Sets the CPU time of an action in its parts; measured values below zero are chance. */
export function setCost({ costs }: Course, action: Action, cpu: Cpu): void {
  const known: readonly Part[] = actions[action].parts;
  costs.actions[action] = mapParts((part) => (known.includes(part) ? Math.max(0, cpu[part]) : 0));
}
