import type { RecordedRun, StepReceiver } from "../../scheduler/trace/record_steps.ts";

/** More spans than these are dropped, the oldest first: some megabytes. */
const SPANS_MAX = 8_192;

/** The runs whose spans are still to be sent. */
export class SpanQueue implements StepReceiver {
  isOn = false;
  propagates = false;
  /** How many spans were dropped, since they could not be sent. */
  dropped = 0;
  /** Called when a run was added. */
  onAdded: () => void = () => {};
  #runs: RecordedRun[] = [];
  #spans = 0;

  get spans(): number {
    return this.#spans;
  }

  receive(run: RecordedRun): void {
    this.#runs.push(run);
    this.#spans += spansOf(run);
    while (this.#spans > SPANS_MAX) this.dropped += this.#remove(1);
    this.onAdded();
  }

  /** Returns the oldest runs that have at most so many spans together, and at least one run. */
  first(spansMax: number): readonly RecordedRun[] {
    let spans = 0;
    const end = this.#runs.findIndex((run, index) => {
      spans += spansOf(run);
      return spans > spansMax && index > 0;
    });
    return this.#runs.slice(0, end < 0 ? undefined : end);
  }

  /** Removes runs that were sent; those that were dropped meanwhile are no longer here. */
  sent(runs: readonly RecordedRun[]): void {
    const gone = new Set(runs);
    const end = this.#runs.findIndex((run) => !gone.has(run));
    this.#remove(end < 0 ? this.#runs.length : end);
  }

  clear(): void {
    this.#remove(this.#runs.length);
  }

  /** Removes the oldest runs, and returns how many spans they had. */
  #remove(count: number): number {
    const spans = this.#runs.splice(0, count).reduce((sum, run) => sum + spansOf(run), 0);
    this.#spans -= spans;
    return spans;
  }
}

function spansOf({ steps }: RecordedRun): number {
  return 1 + steps.length;
}
