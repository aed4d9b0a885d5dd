/** A parsed JSON text: its value, and the line (from 1) on which each part begins, by JSON pointer. */
export interface ReadJson {
  ok: true;
  value: unknown;
  lines: ReadonlyMap<string, number>;
}

/** Why a text is not valid JSON, and on which line (from 1). */
export interface BadJson {
  ok: false;
  line: number;
  message: string;
}

/** The state of the parser. */
interface ParserState {
  readonly text: string;
  at: number;
  readonly lines: Map<string, number>;
  /** The line of the position `counted`, stored so that each line is counted only once. */
  line: number;
  counted: number;
}

/** The maximum depth. It is greater than the depth that the API accepts. */
const maxDepth = 40;
const space = /[\t\n\r ]*/y;
const string = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const plain = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function take(state: ParserState, pattern: RegExp): string {
  pattern.lastIndex = state.at;
  const found = pattern.exec(state.text)?.[0] ?? '';
  state.at += found.length;
  return found;
}

const fail = (message: string): never => {
  throw new Error(message);
};

function lineHere(state: ParserState): number {
  for (; state.counted < state.at; state.counted++) if (state.text[state.counted] === '\n') state.line++;
  return state.line;
}

/** Returns the next character that is not white space; empty at the end. */
function peek(state: ParserState): string {
  take(state, space);
  return state.text[state.at] ?? '';
}

function readString(state: ParserState): string {
  const { at } = state;
  const found = take(state, string);
  // Control characters, including line breaks, must be escaped. The error is reported where the string begins.
  if (found === '' || Array.from(found).some((char) => char < ' ')) {
    state.at = at;
    fail('This string is not closed, or it contains a character that must be escaped.');
  }
  return JSON.parse(found) as string;
}

function readKey(state: ParserState): string {
  return peek(state) === '"' ? readString(state) : fail('Expected a name in double quotes.');
}

/** Parses items between two brackets, separated by commas; `each` parses one. */
function readBetween(state: ParserState, close: string, each: (index: number) => void): void {
  state.at++;
  if (peek(state) === close) {
    state.at++;
    return;
  }
  for (let index = 0; ; index++) {
    each(index);
    const next = peek(state);
    if (next !== ',' && next !== close) fail(`Expected a comma or ${close}.`);
    state.at++;
    if (next === close) return;
    if (peek(state) === close) fail(`Remove the comma before ${close}.`);
  }
}

function readValue(state: ParserState, pointer: string, depth: number): void {
  const first = peek(state);
  state.lines.set(pointer, lineHere(state));
  if (depth > maxDepth) fail('This is nested too deeply.');
  if (first === '[') readBetween(state, ']', (index) => readValue(state, `${pointer}/${index}`, depth + 1));
  else if (first === '{')
    readBetween(state, '}', () => {
      const key = readKey(state);
      if (peek(state) !== ':') fail('Expected a colon.');
      state.at++;
      readValue(state, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, depth + 1);
    });
  else if (first === '"') readString(state);
  else if (take(state, plain) === '') fail(first === '' ? 'Unexpected end of the text.' : 'Expected a JSON value.');
}

/** Parses a JSON text like `JSON.parse`, and records the lines of its parts. Never throws. */
export function readJson(text: string): ReadJson | BadJson {
  const state: ParserState = { text, at: 0, lines: new Map(), line: 1, counted: 0 };
  try {
    readValue(state, '', 0);
    if (peek(state) !== '') fail('Unexpected text after the end of the JSON.');
    return { ok: true, value: JSON.parse(text), lines: state.lines };
  } catch (error) {
    return { ok: false, line: lineHere(state), message: (error as Error).message };
  }
}

/** Returns the line of `pointer`, or of the nearest part that contains it, because a missing field has no line. */
export function lineAt(lines: ReadonlyMap<string, number>, pointer: string): number {
  for (let path = pointer; path.includes('/'); path = path.slice(0, path.lastIndexOf('/'))) {
    const line = lines.get(path);
    if (line !== undefined) return line;
  }
  return lines.get('') ?? 1;
}
