/** What a sample is filled in with: where the service is, and whose bot it is. */
export interface SampleFacts {
  /** Where the API is, without a slash at the end: `http://localhost:8080`. */
  base: string;
  applicationId: string;
}

/** Code of a first bot as it is shown, copied and run. */
export interface Sample {
  /** Under which name it is saved. */
  file: string;
  /** What is installed before, as one command; null when nothing is. */
  install: string | null;
  /** The command that runs it. */
  run: string;
  /** The variable of the environment that holds its secret. */
  secret: 'BOT_TOKEN' | 'SIGNING_SECRET';
  code: string;
}

/** The name of the command that every sample answers. */
export const sampleCommand = {
  name: 'hello',
  description: 'Says hello.',
  options: [{ name: 'name', description: 'Who is greeted.' }],
} as const;

/** A text as a string of JavaScript and of Python alike: what it holds cannot end it. */
export const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

/** A shell's command line that runs `sample`: with `secret`, or with a hole where the secret belongs. */
export const commandLine = ({ run, secret: name }: Sample, secret: string | undefined): string =>
  `${name}='${secret ?? (name === 'BOT_TOKEN' ? 'your bot token' : 'your signing secret')}' ${run}`;
