import type { Embed } from '../../../contract/message.ts';
import { colors, counted, embedOf } from './look.ts';
import { type Fields, numberAt, rawAt, wrongAction } from './read.ts';
import { type Common, commonOf } from './subject.ts';

/** The facts about a star. `stars` is the number of stars of the repository now. */
export interface StarFacts extends Common {
  event: 'star';
  stars: number | null;
}

/** Reads a `star`. Only new stars are posted. */
export function readStar(payload: Fields): StarFacts | string {
  if (rawAt(payload, 'action') !== 'created') return wrongAction('star', payload);
  return { event: 'star', ...commonOf(payload), stars: numberAt(payload, 'repository.stargazers_count') };
}

/** The post of a star. */
export const renderStar = (facts: StarFacts): Embed =>
  embedOf(facts, { title: 'New star', url: null, color: colors.star, footer: facts.stars === null ? '' : counted(facts.stars, 'star') });
