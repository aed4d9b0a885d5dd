const unknownDevice = 'Unknown device';

/** The patterns of browsers. A browser comes before those whose names its user agent contains too. */
const browsers: readonly [RegExp, string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
];

/** The patterns of operating systems. A system comes before those whose names its user agent contains too. */
const systems: readonly [RegExp, string][] = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const findName = (userAgent: string, table: readonly [RegExp, string][]): string | undefined =>
  table.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Describes a `User-Agent` header in plain words: `Firefox on Windows`, or the name of a program, such as `curl`. The result has at most 64 characters. */
export function describeDevice(userAgent: string): string {
  const text = userAgent.slice(0, 512);
  const browser = findName(text, browsers);
  const system = findName(text, systems);
  if (browser) return system ? `${browser} on ${system}` : browser;
  const [, program] = /^([A-Za-z][A-Za-z0-9_.-]{0,31})(?:\/|$|\s)/.exec(text) ?? [];
  if (program && program !== 'Mozilla') return system ? `${program} on ${system}` : program;
  return system ? `A browser on ${system}` : unknownDevice;
}
