/** The values that are inserted into a sample: the URL of the service and the application. */
export interface SampleFacts {
  /** The base URL of the API, without a slash at the end: `http://localhost:8080`. */
  base: string;
  applicationId: string;
}

/** A code sample of a first bot, to be shown, copied and run. */
export interface Sample {
  /** The name of the file to save it as. */
  file: string;
  /** The command that installs its packages; null when it needs none. */
  install: string | null;
  /** The command that runs it. */
  run: string;
  /** The environment variable that contains its secret. */
  secret: 'BOT_TOKEN' | 'SIGNING_SECRET';
  code: string;
}

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
  `${name}='${secret ?? (name === 'BOT_TOKEN' ? 'your bot token' : 'your signing secret')}' ${run}`;
