/** The exit codes of the process, as the help lists them (docs/operations.md#operator-commands). */
export const exits = { done: 0, refused: 1, usage: 64, away: 69, fault: 70, configuration: 78 } as const;

/** The result of a command: the exit code of the process, and its output with `--json` (`json`) and for people (`text`). */
export interface Ending {
  readonly exit: number;
  readonly json: Readonly<Record<string, unknown>> & { ok: boolean };
  readonly text: string;
}

/** The result of a failed command. `exit` is the exit code, and `code` identifies the error for programs. */
export const failed = (exit: number, code: string, message: string): Ending => ({
  exit,
  json: { ok: false, error: { code, message } },
  text: message,
});
