import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed, formatCountOf } from './embed.ts';
import { explainIgnoredAction, type Fields, numberAt, stringAt } from './payload.ts';
import { type CommonFacts, readCommonFacts } from './subject.ts';

/** The facts about a star. `stars` is the number of stars of the repository now. */
export interface StarFacts extends CommonFacts {
  event: 'star';
  stars: number | null;
}

/** Reads a `star`. Only new stars are posted. */
export function readStar(payload: Fields): StarFacts | string {
  if (stringAt(payload, 'action') !== 'created') return explainIgnoredAction('star', payload);
  return { event: 'star', ...readCommonFacts(payload), stars: numberAt(payload, 'repository.stargazers_count') };
}

/** The post of a star. */
export const renderStar = (facts: StarFacts): Embed =>
  createEmbed(facts, {
    title: 'New star',
    url: null,
    color: colors.star,
    footer: facts.stars === null ? '' : formatCountOf(facts.stars, 'star'),
  });
