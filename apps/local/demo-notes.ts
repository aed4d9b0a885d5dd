import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSecret } from './data-folder.ts';

/** The credentials of a demo user. */
export interface Login {
  username: string;
  password: string;
}

/** A demo user with a session. */
export interface DemoPerson extends Login {
  id: string;
  token: string;
}

/** The objects of the demo, as stored in `demo.json` in the data folder. */
export interface Demo {
  person: DemoPerson;
  server: { id: string; channelId: string };
  application: { id: string; botId: string; token: string };
  command: { id: string };
  /** A second user who talks with `person`. */
  guest: DemoPerson;
  /** The parts that were made, by name: the value that other parts use, or null if a part could not be made because something it needs was deleted. */
  made: Readonly<Record<string, string | null>>;
}

/** The content of `demo.json` so far. A user's name and password are stored before the user is registered. */
export type Known = Partial<Omit<Demo, 'person' | 'guest'>> & { person?: Login | DemoPerson; guest?: Login | DemoPerson };

/** Access to `demo.json` while the demo is being made. */
export interface Notes {
  readonly known: Readonly<Known>;
  /** Stores `values`; they are on disk when it returns. */
  keep(values: Known): void;
  /** Forgets everything in memory; the file changes with the next `keep`. */
  clear(): void;
}

const fileOf = (folder: string): string => join(folder, 'demo.json');

/** The content of `demo.json` in `folder`; empty if the file is missing. */
export const readDemo = (folder: string): Known =>
  existsSync(fileOf(folder)) ? (JSON.parse(readFileSync(fileOf(folder), 'utf8')) as Known) : {};

/** Opens `demo.json` in `folder`; the file is readable by its owner only. */
export function openNotes(folder: string): Notes {
  let known = readDemo(folder);
  return {
    get known() {
      return known;
    },
    keep(values) {
      known = { ...known, ...values };
      writeSecret(fileOf(folder), `${JSON.stringify(known, null, 2)}\n`);
    },
    clear() {
      known = {};
    },
  };
}
