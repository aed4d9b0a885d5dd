/** The exit codes of the process, as the help lists them (docs/operations.md#operator-commands). */
export const exitCodes = { done: 0, refused: 1, usage: 64, unavailable: 69, internal: 70, configuration: 78 } as const;

/** The result of a command: the exit code of the process, and its output with `--json` (`json`) and for people (`text`). */
export interface Result {
  readonly exitCode: number;
  readonly json: Readonly<Record<string, unknown>> & { ok: boolean };
  readonly text: string;
}

/** The result of a failed command. `code` identifies the error for programs. */
export const failure = (exitCode: number, code: string, message: string): Result => ({
  exitCode,
  json: { ok: false, error: { code, message } },
  text: message,
});
