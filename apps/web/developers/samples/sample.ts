/** A code sample of a first bot, to be shown, copied and run. */
export interface Sample {
  /** The name of the file to save it as. */
  file: string;
  /** The command that installs the kit, which Parlance serves itself. */
  install: string;
  /** The command that runs it. */
  run: string;
  /** The environment variable that contains its secret. */
  secret: 'PARLANCE_TOKEN' | 'SIGNING_SECRET';
  code: string;
}

/** Returns a sample for the installation at `base`, a URL without a slash at the end: `http://localhost:8080`. */
export type SampleOf = (base: string) => Sample;

/** The path of the JavaScript kit, a package for npm. */
export const javascriptKit = '/developers/kits/parlance-bot-0.1.0.tgz';
/** The path of the Python kit, a wheel. pip wants the version in its name. */
export const pythonKit = '/developers/kits/parlance-0.1.0-py3-none-any.whl';

/** The name of the command that every sample answers. */
export const sampleCommand = {
  name: 'hello',
  description: 'Says hello.',
  options: [{ name: 'name', description: 'The name to greet.' }],
} as const;

/** Quotes a text as a string literal that is valid in both JavaScript and Python, with everything escaped that could end it. */
export const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

/** Returns the shell command that runs `sample`: with `secret`, or with a placeholder for it. */
export const commandLine = ({ run, secret: name }: Sample, secret: string | undefined): string =>
  `${name}='${secret ?? (name === 'PARLANCE_TOKEN' ? 'your bot token' : 'your signing secret')}' ${run}`;
