import type { Embed } from '../../../contract/message.ts';
import { colors, counted, embedOf } from './look.ts';
import { type Fields, flagAt, numberAt, rawAt, without } from './read.ts';
import { type Common, commonOf, type Repository, repositoryAt } from './subject.ts';

/** The facts about a fork. `repository` is the one that was forked, `forks` the number of its forks now. */
export interface ForkFacts extends Common {
  event: 'fork';
  fork: Repository;
  forks: number | null;
}

/** Whether the fields are swapped. `forkee` is the new repository on GitHub, but the forked one on Gitea and Forgejo. */
function isExchanged(payload: Fields): boolean {
  if (!flagAt(payload, 'repository.fork')) return false;
  const parent = rawAt(payload, 'repository.parent.full_name');
  return !flagAt(payload, 'forkee.fork') || (parent !== '' && parent === rawAt(payload, 'forkee.full_name'));
}

/** Reads a `fork`. */
export function readFork(payload: Fields): ForkFacts | string {
  const exchanged = isExchanged(payload);
  const [forked, made] = exchanged ? ['forkee', 'repository'] : ['repository', 'forkee'];
  const fork = repositoryAt(payload, made);
  if (fork === null) return without(made);
  return {
    event: 'fork',
    ...commonOf(payload, `${made}.owner`),
    repository: repositoryAt(payload, forked),
    fork,
    forks: numberAt(payload, `${forked}.forks_count`),
  };
}

/** The post of a fork. */
export const renderFork = (facts: ForkFacts): Embed =>
  embedOf(facts, {
    title: `Forked to ${facts.fork.name}`,
    url: facts.fork.url,
    color: colors.fork,
    footer: facts.forks === null ? '' : counted(facts.forks, 'fork'),
  });
