import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, formatCountOf } from './embed.ts';
import { explainMissing, type Fields, flagAt, numberAt, stringAt } from './payload.ts';
import { type CommonFacts, type Repository, readCommonFacts, repositoryAt } from './subject.ts';

/** The facts about a fork. `repository` is the one that was forked, `forks` the number of its forks now. */
export interface ForkFacts extends CommonFacts {
  event: 'fork';
  fork: Repository;
  forks: number | null;
}

/** Whether the fields are swapped. `forkee` is the new repository on GitHub, but the forked one on Gitea and Forgejo. */
function isSwapped(payload: Fields): boolean {
  if (!flagAt(payload, 'repository.fork')) return false;
  const parent = stringAt(payload, 'repository.parent.full_name');
  return !flagAt(payload, 'forkee.fork') || (parent !== '' && parent === stringAt(payload, 'forkee.full_name'));
}

/** Reads a `fork`. */
export function readFork(payload: Fields): ForkFacts | string {
  const swapped = isSwapped(payload);
  const [forkedKey, forkKey] = swapped ? ['forkee', 'repository'] : ['repository', 'forkee'];
  const fork = repositoryAt(payload, forkKey);
  if (fork === null) return explainMissing(forkKey);
  return {
    event: 'fork',
    ...readCommonFacts(payload, `${forkKey}.owner`),
    repository: repositoryAt(payload, forkedKey),
    fork,
    forks: numberAt(payload, `${forkedKey}.forks_count`),
  };
}

/** The post of a fork. */
export const renderFork = (facts: ForkFacts): Embed =>
  createEmbed(facts, {
    title: `Forked to ${facts.fork.name}`,
    url: facts.fork.url,
    color: colors.fork,
    footer: facts.forks === null ? '' : formatCountOf(facts.forks, 'fork'),
  });
