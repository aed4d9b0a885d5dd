import { TextDecoder } from 'node:util';
import { type Handler, Parser } from 'htmlparser2';
import { isBlank } from '../../base/text.ts';

/** The title and the `meta` values in the head of a page, unchanged. Names in `metas` are lowercase; each has its first value that is not blank. */
export interface PageHead {
  title: string;
  /** The `href` of the first `<base>` that has one, to which addresses in the page are relative. */
  base: string | undefined;
  metas: ReadonlyMap<string, string>;
}

/** Reads the head of a page piece by piece. */
export interface HeadReader {
  /** Takes the next bytes. Returns true once the head has ended. */
  write(piece: Uint8Array): boolean;
  /** Returns what was read. May be called before the page has ended. */
  end(): PageHead;
}

/** The name of the character set is searched in this many bytes at the start of the page, as in browsers. */
const sniffBytes = 1_024;
/** The parser stops at this depth of nested elements. A real head is never that deep, and endless nesting would keep the parser busy for seconds. */
const depthMax = 64;
/** No more text is added to a title of this length, in UTF-16 units. */
const titleUnits = 4_096;

/** The value of `charset=` in the content of a media type. */
const findCharset = (text: string): string | undefined => /charset\s*=\s*["']?\s*([\w:.+-]+)/i.exec(text)?.[1];

/** The character set that the start of a page names: in the XML declaration of XHTML, or in a `meta` with `charset` or `http-equiv`. */
function findDeclaredCharset(start: string): string | undefined {
  let found = /^<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w:.+-]+)["']/.exec(start)?.[1];
  const parser = new Parser({
    onopentag(name, { charset, 'http-equiv': httpEquiv, content = '' }) {
      if (name === 'meta')
        found ??= charset?.trim() || (httpEquiv?.trim().toLowerCase() === 'content-type' ? findCharset(content) : undefined);
    },
  });
  parser.end(start);
  return found;
}

/** The decoder of a page: by its byte order mark, else the Content-Type header, else what it declares, else UTF-8. Invalid bytes become U+FFFD. */
function createDecoder(start: Uint8Array, contentType: string): TextDecoder {
  const [first, second] = start;
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xef && second === 0xbb && start[2] === 0xbf) return new TextDecoder();
  const declared = findDeclaredCharset(Buffer.from(start.subarray(0, sniffBytes)).toString('latin1'));
  // The declaration was found in single-byte text, so the page is not in UTF-16, even if it says so.
  const named = [findCharset(contentType), declared && /^utf-16/i.test(declared) ? 'utf-8' : declared];
  for (const name of named) {
    try {
      if (name) return new TextDecoder(name);
    } catch {} // unknown character set: try the next name
  }
  return new TextDecoder();
}

/**
 * Parses markup until `</head>` or `<body>` and decodes entities. Broken markup is parsed as far as possible. In XHTML an element may end in its own tag
 * (`<script/>`).
 */
function createHeadParser(isXhtml: boolean): { parser: Parser; head: PageHead; hasEnded: () => boolean } {
  const metas = new Map<string, string>();
  const head: PageHead = { title: '', base: undefined, metas };
  let titles = 0;
  let inTitle = false;
  let svgDepth = 0; // depth inside `<svg>`, which may have a `<title>` of its own
  let depth = 0;
  let hasEnded = false;
  const stop = (): void => {
    hasEnded = true;
    parser.pause();
  };
  const handler: Partial<Handler> = {
    onopentag(name, { property, name: nameAttribute, content, href }) {
      if (hasEnded) return;
      if (name === 'body' || ++depth > depthMax) stop();
      else if (name === 'svg') svgDepth++;
      else if (name === 'title' && svgDepth === 0) inTitle = ++titles === 1;
      else if (name === 'meta' && content !== undefined) {
        const key = (property ?? nameAttribute ?? '').trim().toLowerCase();
        if (key !== '' && !isBlank(content) && !metas.has(key)) metas.set(key, content);
      } else if (name === 'base') head.base ??= href;
    },
    ontext(text) {
      if (inTitle && !hasEnded && head.title.length < titleUnits) head.title += text;
    },
    onclosetag(name) {
      depth--;
      if (name === 'title') inTitle = false;
      else if (name === 'svg') svgDepth--;
      else if (name === 'head') stop();
    },
  };
  const parser: Parser = new Parser(handler, { recognizeSelfClosing: isXhtml });
  return { parser, head, hasEnded: () => hasEnded };
}

/** A reader for a page of this Content-Type. */
export function createHeadReader(contentType: string): HeadReader {
  const { parser, head, hasEnded } = createHeadParser(/xhtml\+xml/i.test(contentType));
  let start: Uint8Array = new Uint8Array();
  let decoder: TextDecoder | null = null;
  const feed = (bytes: Uint8Array): void => {
    decoder ??= createDecoder(bytes, contentType);
    parser.write(decoder.decode(bytes, { stream: true }));
  };
  return {
    write(piece) {
      if (hasEnded()) return true;
      if (decoder) feed(piece);
      else {
        start = Buffer.concat([start, piece]);
        if (start.length >= sniffBytes) feed(start);
      }
      return hasEnded();
    },
    end() {
      if (!decoder) feed(start);
      if (!hasEnded()) parser.end(decoder?.decode());
      return head;
    },
  };
}
