const slowMs = 60_000;

/** Reports listeners that run for more than a minute: one line for each name in a minute, however many there are. */
export class SlowWatch {
  readonly #report: (text: string) => void;
  readonly #reportedAt = new Map<string, number>();

  constructor(report: (text: string) => void) {
    this.#report = report;
  }

  /** Watches the work of `who`, such as `A listener of messageCreate`, and returns it. `lane` names what waits for it, such as `events of channel 1`. */
  watch(who: string, work: Promise<void>, lane?: string): Promise<void> {
    const timer = setTimeout(() => this.#reportSlow(who, lane), slowMs);
    // A listener that never ends must not keep a stopped program alive.
    (timer as { unref?(): void }).unref?.();
    return work.finally(() => clearTimeout(timer));
  }

  #reportSlow(who: string, lane: string | undefined): void {
    const now = performance.now();
    if (now - (this.#reportedAt.get(who) ?? Number.NEGATIVE_INFINITY) < slowMs) return;
    this.#reportedAt.set(who, now);
    this.#report(`${who} has been running for more than a minute.${lane === undefined ? '' : ` Later ${lane} wait for it.`}`);
  }
}
