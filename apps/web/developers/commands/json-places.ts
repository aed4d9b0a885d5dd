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
interface Course {
  readonly text: string;
  at: number;
  readonly lines: Map<string, number>;
  /** The line of the position `counted`, stored so that each line is counted only once. */
  line: number;
  counted: number;
}

class Fault extends Error {}

/** The maximum depth. It is greater than the depth that the API accepts. */
const mostDeep = 40;
const space = /[\t\n\r ]*/y;
const string = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const plain = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function take(course: Course, pattern: RegExp): string {
  pattern.lastIndex = course.at;
  const found = pattern.exec(course.text)?.[0] ?? '';
  course.at += found.length;
  return found;
}

const fail = (message: string): never => {
  throw new Fault(message);
};

function lineHere(course: Course): number {
  for (; course.counted < course.at; course.counted++) if (course.text[course.counted] === '\n') course.line++;
  return course.line;
}

/** Returns the next character that is not white space; empty at the end. */
function peek(course: Course): string {
  take(course, space);
  return course.text[course.at] ?? '';
}

function readString(course: Course): string {
  const { at } = course;
  const found = take(course, string);
  // Control characters, including line breaks, must be escaped. The error is reported where the string begins.
  if (found === '' || Array.from(found).some((char) => char < ' ')) {
    course.at = at;
    fail('This string is not closed, or contains a character that must be escaped.');
  }
  return JSON.parse(found) as string;
}

function readKey(course: Course): string {
  return peek(course) === '"' ? readString(course) : fail('Expected a name in double quotes.');
}

/** Parses items between two brackets, separated by commas; `each` parses one. */
function readBetween(course: Course, close: string, each: (index: number) => void): void {
  course.at++;
  if (peek(course) === close) {
    course.at++;
    return;
  }
  for (let index = 0; ; index++) {
    each(index);
    const next = peek(course);
    if (next !== ',' && next !== close) fail(`Expected a comma or ${close}.`);
    course.at++;
    if (next === close) return;
    if (peek(course) === close) fail(`Remove the comma before ${close}.`);
  }
}

function readValue(course: Course, pointer: string, depth: number): void {
  const first = peek(course);
  course.lines.set(pointer, lineHere(course));
  if (depth > mostDeep) fail('This is nested too deeply.');
  if (first === '[') readBetween(course, ']', (index) => readValue(course, `${pointer}/${index}`, depth + 1));
  else if (first === '{')
    readBetween(course, '}', () => {
      const key = readKey(course);
      if (peek(course) !== ':') fail('Expected a colon.');
      course.at++;
      readValue(course, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, depth + 1);
    });
  else if (first === '"') readString(course);
  else if (take(course, plain) === '') fail(first === '' ? 'Unexpected end of text.' : 'This is not a JSON value.');
}

/** Parses a JSON text like `JSON.parse`, and records the lines of its parts. Never throws. */
export function readJson(text: string): ReadJson | BadJson {
  const course: Course = { text, at: 0, lines: new Map(), line: 1, counted: 0 };
  try {
    readValue(course, '', 0);
    if (peek(course) !== '') fail('Unexpected text after the list.');
    return { ok: true, value: JSON.parse(text), lines: course.lines };
  } catch (fault) {
    return { ok: false, line: lineHere(course), message: (fault as Error).message };
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
