/** One value of a metric, with its labels. */
export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Limits far above what an installation reports, so that an unexpected response cannot fill the memory. */
const samplesMax = 200_000;
const labelsMax = 16;

const escapes: Record<string, string> = { n: '\n', '"': '"', '\\': '\\' };
const label = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"\s*(,|$)\s*/y;

/** Parses the labels between the braces. Returns null if they are not valid, or too many. */
function labelsOf(text: string): Record<string, string> | null {
  const labels: Record<string, string> = Object.create(null);
  label.lastIndex = 0;
  for (let count = 0; label.lastIndex < text.length; count++) {
    const found = label.exec(text);
    if (!found || count === labelsMax) return null;
    labels[found[1] ?? ''] = (found[2] ?? '').replace(/\\(.)/g, (whole, char: string) => escapes[char] ?? whole);
  }
  return labels;
}

/** Parses one line; null if it is not a sample. The labels end at the last brace of the line, because a label's value can contain braces. */
function sampleOf(line: string, name: string): Sample | null {
  const rest = line.slice(name.length);
  const end = rest.startsWith('{') ? rest.lastIndexOf('}') : 0;
  if (end === -1) return null;
  const labels = rest.startsWith('{') ? labelsOf(rest.slice(1, end).trim()) : {};
  const [text = ''] = rest
    .slice(rest.startsWith('{') ? end + 1 : 0)
    .trim()
    .split(/\s+/, 1);
  const value = text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : text === '' ? Number.NaN : Number(text);
  return labels === null || Number.isNaN(value) ? null : { name, labels, value };
}

/** Parses the samples of Prometheus' text format whose names are `wanted`, at most 200,000. Comments, other names and invalid lines are skipped. */
export function parseExposition(text: string, wanted: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (let start = 0; start < text.length && samples.length < samplesMax; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const name = /[A-Za-z_:][A-Za-z0-9_:]*/y;
    name.lastIndex = start;
    const found = name.exec(text)?.[0];
    if (found !== undefined && wanted.has(found)) {
      const sample = sampleOf(text.slice(start, end), found);
      if (sample) samples.push(sample);
    }
    start = end + 1;
  }
  return samples;
}
