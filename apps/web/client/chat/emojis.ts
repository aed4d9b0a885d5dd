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

/** Emoji of 2018 and later, and joined ones. All fonts with emoji have the others, so these alone are drawn to see whether they can be. */
const isRecent =
  /[\u{1f6d5}-\u{1f6df}\u{1f6fa}-\u{1f6ff}\u{1f7e0}-\u{1f7ff}\u{1f90c}-\u{1f93f}\u{1f94d}-\u{1f9ff}\u{1fa70}-\u{1faff}\u200d]/u;

/**
 * Returns a function that tells whether the fonts of this device can draw an emoji. A missing character is drawn like a character that no font has; an emoji
 * that is joined from several is then drawn as these, which is wider than one. Without a canvas, every emoji counts as drawable.
 */
function drawableEmojis(): (emoji: string) => boolean {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 16;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return () => true;
  context.font = '12px sans-serif';
  context.textBaseline = 'top';
  const draw = (text: string): string => {
    context.clearRect(0, 0, 16, 16);
    context.fillText(text, 0, 0);
    return context.getImageData(0, 0, 16, 16).data.join();
  };
  const maxWidth = context.measureText('🎉').width * 1.5;
  const missing = draw('\u{1fffe}');
  // Without an emoji font nothing can be told, and everything is offered.
  if (draw('🎉') === missing) return () => true;
  return (emoji) => !isRecent.test(emoji) || (context.measureText(emoji).width <= maxWidth && draw(emoji) !== missing);
}

let loading: Promise<readonly Emoji[]> | undefined;

async function load(): Promise<readonly Emoji[]> {
  const [entries, shortcodes] = await Promise.all([
    import('emojibase-data/en/compact.json').then((file) => file.default as Entry[]),
    import('emojibase-data/en/shortcodes/github.json').then((file) => file.default as Record<string, string | string[]>),
  ]);
  const canDraw = drawableEmojis();
  const emojis = entries.flatMap(({ unicode, label, hexcode, tags = [], group, skins = [] }) => {
    // Flag letters and skin tones alone are not emoji to offer.
    if (group === undefined || group === 2 || !canDraw(unicode)) return [];
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

/**
 * Ranks how well an emoji matches the searched text: the lowest number is best, undefined is no match. Among shortcodes that begin with the text, those of
 * which more is typed are better.
 */
function rankOf({ label, shortcodes, tags }: Emoji, wanted: string): number | undefined {
  if (shortcodes.includes(wanted) || label === wanted) return 0;
  const begun = shortcodes.filter((code) => code.startsWith(wanted)).map(({ length }) => length);
  if (begun.length > 0) return 2 - wanted.length / Math.min(...begun);
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
