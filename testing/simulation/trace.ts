import { WEEKDAYS, zoned } from "../../src/rehearsal/scenario_text.ts";

/** Something that happened. */
export interface TraceEvent {
  /** Wall time of the world, without the steps of any machine's clock. */
  readonly atMs: number;
  /** Where; empty for what is at no machine. */
  readonly machine: string;
  /** Such as `result`, `notification`, `attempt`, `outcome`, `received`, `kill`, `action`, `log`. */
  readonly what: string;
  readonly text: string;
}

/** Older events than these are dropped. */
const EVENTS_MAX = 100_000;

/** What happened in a world, in order. */
export class Trace {
  readonly #events: TraceEvent[] = [];
  readonly #now: () => number;
  #dropped = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  add(machine: string, what: string, text: string): void {
    this.#events.push({ atMs: this.#now(), machine, what, text });
    if (this.#events.length <= EVENTS_MAX) return;
    this.#dropped += this.#events.splice(0, EVENTS_MAX / 2).length;
  }

  /** A line for each event; of very many the last ones. */
  text({ zone, linesMax = Infinity }: { readonly zone: string; readonly linesMax?: number }): string {
    const shown = this.#events.slice(-linesMax);
    const left = this.#dropped + this.#events.length - shown.length;
    const width = Math.max(0, ...shown.map(({ machine }) => machine.length));
    const lines = shown.map(({ atMs, machine, what, text }) =>
      `${formatTime(atMs, zone)}  ${machine.padEnd(width)}  ${what.padEnd(12)}  ${text}`
    );
    return [...left > 0 ? [`(${left} earlier events)`] : [], ...lines].join("\n");
  }
}

/** Returns a wall time as `Mon 03-02 22:10:05.120` in a time zone. */
export function formatTime(atMs: number, zone: string): string {
  const time = zoned(atMs, zone);
  const text = time.toPlainDateTime().toString({ smallestUnit: "millisecond" });
  return `${WEEKDAYS[time.dayOfWeek - 1]} ${text.slice(5, 10)} ${text.slice(11)}`;
}
