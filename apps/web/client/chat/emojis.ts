/** A Unicode emoji, as the picker and the completion offer it. */
export interface Emoji {
  emoji: string;
  /** Its name: `thumbs up`. */
  label: string;
  /** Its shortcodes without colons, best first: `thumbsup`. Some emoji have none. */
  shortcodes: readonly string[];
  tags: readonly string[];
  /** The number of its group in `emojiGroups`. */
  group: number;
  /** The emoji in the five skin tones, light to dark; empty when it has none. */
  skins: readonly string[];
}

/** The groups of emoji in the order of the picker, each with a sample emoji as its icon. */
export const emojiGroups: readonly { group: number; name: string; icon: string }[] = [
  { group: 0, name: 'Smileys', icon: '😀' },
  { group: 1, name: 'People', icon: '👋' },
  { group: 3, name: 'Animals and nature', icon: '🐻' },
  { group: 4, name: 'Food and drink', icon: '🍎' },
  { group: 5, name: 'Travel and places', icon: '🚗' },
  { group: 6, name: 'Activities', icon: '⚽' },
  { group: 7, name: 'Objects', icon: '💡' },
  { group: 8, name: 'Symbols', icon: '💜' },
  { group: 9, name: 'Flags', icon: '🏁' },
];

/** An emoji in the data set. */
interface Entry {
  unicode: string;
  label: string;
  hexcode: string;
  tags?: string[];
  group?: number;
  skins?: { unicode: string }[];
}

const byName = new Map<string, Emoji>();

/** Returns the emoji of a shortcode without colons; undefined when there is none or the emoji data are not loaded yet. */
export const emojiNamed = (shortcode: string): Emoji | undefined => byName.get(shortcode);

let loading: Promise<readonly Emoji[]> | undefined;

async function load(): Promise<readonly Emoji[]> {
  const [entries, shortcodes] = await Promise.all([
    import('emojibase-data/en/compact.json').then((file) => file.default as Entry[]),
    import('emojibase-data/en/shortcodes/github.json').then((file) => file.default as Record<string, string | string[]>),
  ]);
  const emojis = entries.flatMap(({ unicode, label, hexcode, tags = [], group, skins = [] }) => {
    // Flag letters and skin tones alone are not emoji to offer.
    if (group === undefined || group === 2) return [];
    const codes = shortcodes[hexcode] ?? [];
    return [
      {
        emoji: unicode,
        label,
        shortcodes: typeof codes === 'string' ? [codes] : codes,
        tags,
        group,
        // Emoji of two people have 25 combinations of tones. Only emoji with five are offered in skin tones.
        skins: skins.length === 5 ? skins.map((one) => one.unicode) : [],
      },
    ];
  });
  for (const emoji of emojis) for (const code of emoji.shortcodes) byName.set(code, emoji);
  return emojis;
}

/** Loads all emoji, in the order of the picker. The data are a separate file that is loaded once, at the first call. Rejects when it cannot be loaded. */
export function loadEmojis(): Promise<readonly Emoji[]> {
  loading ??= load().catch((fault: unknown) => {
    loading = undefined;
    throw fault;
  });
  return loading;
}

/** Ranks how well an emoji matches the searched text: 0 is best, undefined is no match. */
function rankOf({ label, shortcodes, tags }: Emoji, wanted: string): number | undefined {
  if (shortcodes.includes(wanted) || label === wanted) return 0;
  if (shortcodes.some((code) => code.startsWith(wanted))) return 1;
  if (label.startsWith(wanted) || tags.includes(wanted)) return 2;
  if (label.includes(wanted) || shortcodes.some((code) => code.includes(wanted))) return 3;
  return tags.some((tag) => tag.startsWith(wanted)) ? 4 : undefined;
}

/** Finds the emoji that match the beginning of a shortcode or a word, best first, at most `limit`. */
export function findEmojis(emojis: readonly Emoji[], wanted: string, limit: number): Emoji[] {
  const word = wanted.trim().toLowerCase();
  return emojis
    .flatMap((emoji) => {
      const rank = rankOf(emoji, word);
      return rank === undefined ? [] : [{ emoji, rank }];
    })
    .sort((a, b) => a.rank - b.rank)
    .slice(0, limit)
    .map(({ emoji }) => emoji);
}
