import { TextDecoder } from 'node:util';
import { Parser } from 'htmlparser2';

/** What the head of a page says about it, as it was written: names of `meta` in small letters, the first of each. */
export interface PageHead {
  title: string;
  metas: ReadonlyMap<string, string>;
}

/** Reads the head of a page piece by piece. */
export interface HeadReader {
  /** Takes the next bytes; true once the head is over. */
  write(piece: Uint8Array): boolean;
  /** What the head said. The page need not be over. */
  end(): PageHead;
}

/** How many bytes are looked at for the name of the character set, as browsers do. */
const sniffBytes = 1_024;
/** Deeper than this nothing of a head stands; a page nested without end would take the parser seconds. */
const deepest = 64;
/** A title longer than this is not read on, in UTF-16 units. */
const titleUnits = 4_096;

const charsetIn = (text: string): string | undefined => /charset\s*=\s*["']?\s*([\w:.+-]+)/i.exec(text)?.[1];

/** The decoder of a page: by its byte order mark, else the header, else its `meta`, else UTF-8. Bytes that do not fit become U+FFFD. */
function decoderFor(start: Uint8Array, contentType: string): TextDecoder {
  const [first, second] = start;
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xef && second === 0xbb && start[2] === 0xbf) return new TextDecoder();
  const inMeta = charsetIn(/<meta[^>]{0,500}charset[^>]{0,500}/i.exec(Buffer.from(start).toString('latin1'))?.[0] ?? '');
  // A `meta` that could be read at all is not in UTF-16, whatever it says.
  const named = [charsetIn(contentType), inMeta && /^utf-16/i.test(inMeta) ? 'utf-8' : inMeta];
  for (const name of named) {
    try {
      if (name) return new TextDecoder(name);
    } catch {} // no such character set: the next one counts
  }
  return new TextDecoder();
}

/** Parses markup until `</head>` or `<body>`; entities are decoded. What is broken is read as far as it goes. */
function headParser(): { parser: Parser; head: PageHead; over: () => boolean } {
  const metas = new Map<string, string>();
  const head = { title: '', metas };
  let titles = 0;
  let inTitle = false;
  let inside = 0; // svg in a head has titles of its own
  let depth = 0;
  let over = false;
  const stop = (): void => {
    over = true;
    parser.pause();
  };
  const parser: Parser = new Parser({
    onopentag(name, { property, name: called, content }) {
      if (over) return;
      if (name === 'body' || ++depth > deepest) stop();
      else if (name === 'svg') inside++;
      else if (name === 'title' && inside === 0) inTitle = ++titles === 1;
      else if (name === 'meta' && content !== undefined) {
        const key = (property ?? called ?? '').trim().toLowerCase();
        if (key !== '' && content.trim() !== '' && !metas.has(key)) metas.set(key, content);
      }
    },
    ontext(text) {
      if (inTitle && !over && head.title.length < titleUnits) head.title += text;
    },
    onclosetag(name) {
      depth--;
      if (name === 'title') inTitle = false;
      else if (name === 'svg') inside--;
      else if (name === 'head') stop();
    },
  });
  return { parser, head, over: () => over };
}

/** A reader for a page of this Content-Type. */
export function createHeadReader(contentType: string): HeadReader {
  const { parser, head, over } = headParser();
  let start: Uint8Array = new Uint8Array();
  let decoder: TextDecoder | null = null;
  const feed = (bytes: Uint8Array): void => {
    decoder ??= decoderFor(bytes, contentType);
    parser.write(decoder.decode(bytes, { stream: true }));
  };
  return {
    write(piece) {
      if (over()) return true;
      if (decoder) feed(piece);
      else {
        start = Buffer.concat([start, piece]);
        if (start.length >= sniffBytes) feed(start);
      }
      return over();
    },
    end() {
      if (!decoder) feed(start);
      if (!over()) parser.end(decoder?.decode());
      return head;
    },
  };
}
