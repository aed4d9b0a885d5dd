/** The exit codes of the process, as the help lists them (docs/operations.md#operator-commands). */
export const exits = { done: 0, refused: 1, usage: 64, away: 69, fault: 70, configuration: 78 } as const;

/** How a command ended: the exit code of the process, and what it prints, with `--json` and for people. */
export interface Ending {
  readonly exit: number;
  readonly json: Readonly<Record<string, unknown>> & { ok: boolean };
  readonly text: string;
}

/** A command that came to nothing: an exit code, and an error code that programs can tell it by. */
export const failed = (exit: number, code: string, message: string): Ending => ({
  exit,
  json: { ok: false, error: { code, message } },
  text: message,
});
