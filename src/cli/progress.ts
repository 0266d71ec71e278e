import type { Check } from "../domain/check.ts";
import type { System } from "../domain/system.ts";
import { printable } from "../shared/text.ts";

export interface Progress {
  finished(check: Check): void;
  /** Clears the line before other output; it is shown again soon. */
  clear(): void;
  end(): void;
}

const FIRST_SHOWN_AFTER_MS = 1000;
const SHOWN_EVERY_MS = 200;
const NAMES_MAX = 3;

/** Shows progress on a terminal once a run has taken longer than a second; elsewhere it does nothing. */
export function startProgress(checks: readonly Check[], system: Pick<System, "clock" | "stderr">): Progress {
  const waiting = new Set(checks);
  if (!system.stderr.isTerminal) return { finished: () => {}, clear: () => {}, end: () => {} };
  let isShown = false;
  const show = (): void => {
    isShown = true;
    const width = (system.stderr.columns() ?? 80) - 1;
    system.stderr.write(`\r\x1b[K${describe(checks.length, waiting).slice(0, width)}`);
    cancel = system.clock.after(SHOWN_EVERY_MS, show);
  };
  let cancel = system.clock.after(FIRST_SHOWN_AFTER_MS, show);
  const clear = (): void => {
    if (isShown) system.stderr.write("\r\x1b[K");
    isShown = false;
  };
  return {
    finished: (check) => void waiting.delete(check),
    clear,
    end: () => {
      cancel();
      clear();
    },
  };
}

function describe(total: number, waiting: ReadonlySet<Check>): string {
  const names = [...waiting].slice(0, NAMES_MAX).map((check) => printable(check.name));
  const rest = waiting.size - names.length;
  return `${total - waiting.size} of ${total} checks done, waiting for ${names.join(", ")}${
    rest > 0 ? ` and ${rest} more` : ""
  }`;
}
