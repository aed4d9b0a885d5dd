import type { DiscoveryCategory } from '../../../../lib/contract/community.ts';

/** The names of the Discovery categories as the page shows them. */
export const categoryNames: Record<DiscoveryCategory, string> = {
  gaming: 'Gaming',
  music: 'Music',
  entertainment: 'Entertainment',
  science_tech: 'Science and tech',
  education: 'Education',
  art_creators: 'Art and creators',
  anime_manga: 'Anime and manga',
  community_social: 'Community and social',
  other: 'Other',
};

/** Every category, as options of a select field. */
export const categoryChoices = (Object.keys(categoryNames) as DiscoveryCategory[]).map((value) => ({
  value,
  label: categoryNames[value],
}));
