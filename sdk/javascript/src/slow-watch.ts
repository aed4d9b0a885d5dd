const slowMs = 60_000;

/** Tells of listeners that run for more than a minute: one line for each name in a minute, however many there are. */
export class SlowWatch {
  readonly #report: (text: string) => void;
  readonly #reportedAt = new Map<string, number>();

  constructor(report: (text: string) => void) {
    this.#report = report;
  }

  /** Watches the work of `who`, such as `A listener of messageCreate`, and returns it. */
  watch(who: string, work: Promise<void>): Promise<void> {
    const timer = setTimeout(() => this.#tell(who), slowMs);
    // A listener that never ends must not keep a stopped program alive.
    (timer as { unref?(): void }).unref?.();
    return work.finally(() => clearTimeout(timer));
  }

  #tell(who: string): void {
    const now = performance.now();
    if (now - (this.#reportedAt.get(who) ?? Number.NEGATIVE_INFINITY) < slowMs) return;
    this.#reportedAt.set(who, now);
    this.#report(
      `${who.charAt(0).toUpperCase()}${who.slice(1)} has been running for more than a minute. Later events of its channel wait for it.`,
    );
  }
}
