import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSecret } from './data-folder.ts';

/** What a person of the demo logs in with. */
export interface Login {
  username: string;
  password: string;
}

/** A person of the demo, with a session. */
export interface DemoPerson extends Login {
  id: string;
  token: string;
}

/** What the demo consists of, as `demo.json` in the data folder remembers it. */
export interface Demo {
  person: DemoPerson;
  server: { id: string; channelId: string };
  application: { id: string; botId: string; token: string };
  command: { id: string };
  /** Somebody else, who talks with the person. */
  guest: DemoPerson;
  /** Each part of the show that was made, by its name: what others call it by; null where it could not be made, as what it stands on is gone. */
  made: Readonly<Record<string, string | null>>;
}

/** What is known so far. A person's name and password are noted before they are registered. */
export type Known = Partial<Omit<Demo, 'person' | 'guest'>> & { person?: Login | DemoPerson; guest?: Login | DemoPerson };

/** `demo.json` while the demo is made. */
export interface Notes {
  readonly known: Readonly<Known>;
  /** Notes `values`, on disk when it returns. */
  keep(values: Known): void;
  /** Forgets everything. */
  clear(): void;
}

const fileOf = (folder: string): string => join(folder, 'demo.json');

/** What `demo.json` in `folder` remembers; nothing where it is missing. */
export const readDemo = (folder: string): Known =>
  existsSync(fileOf(folder)) ? (JSON.parse(readFileSync(fileOf(folder), 'utf8')) as Known) : {};

/** Opens the notes in `folder`; the file is readable by its owner only. */
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
