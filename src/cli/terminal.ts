import type { System, TextSink } from "../domain/system.ts";
import { EXIT, type Invocation } from "./command_definition.ts";
import type { Check } from "../domain/check.ts";
import { createTrouble, messageOf } from "../shared/describe_error.ts";
import { firstItems, printable } from "../shared/text.ts";

/** A terminal that is not dumb has color, unless `NO_COLOR` is set to anything (https://no-color.org). */
export function usesColor(sink: TextSink, system: WithEnvironment): boolean {
  return sink.isTerminal && !system.environment("NO_COLOR") && system.environment("TERM") !== "dumb";
}

type WithEnvironment = Pick<System, "environment">;

export function wantsColor(invocation: Invocation, sink: TextSink, system: WithEnvironment): boolean {
  return !invocation.has("no-color") && usesColor(sink, system);
}

/** Prints a warning on stderr. */
export function warn(text: string, { stderr }: Pick<System, "stderr">): void {
  stderr.write(`monitor: warning: ${printable(text)}\n`);
}

export type Colors = Readonly<
  Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>
>;

/** The colors of a terminal; without `color` each returns its text as it is. */
export function createColors(color: boolean): Colors {
  const paint = (on: number, off: number) => (text: string) =>
    color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

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
    const names = firstItems([...waiting].map((check) => printable(check.name)), NAMES_MAX).join(", ");
    const text = `${checks.length - waiting.size} of ${checks.length} checks done, waiting for ${names}`;
    system.stderr.write(`\r\x1b[K${text.slice(0, width)}`);
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

/** Returns a sink in the place of another one. */
export function sinkLike(sink: TextSink, write: (text: string) => void): TextSink {
  return {
    write,
    get closed() {
      return sink.closed;
    },
    isTerminal: sink.isTerminal,
    columns: () => sink.columns(),
  };
}

/**
 * A sink that never throws, for a process that continues without its output. Text that can't be written (a full disk, a
 * closed terminal) is lost.
 *
 * Calls `onTrouble` once with the reason when writing begins to fail, and once with `null` when it succeeds again. A
 * reader that has closed its end never returns.
 */
export function createSteadySink(sink: TextSink, onTrouble: (reason: string | null) => void): TextSink {
  const trouble = createTrouble(onTrouble);
  return sinkLike(sink, (text) => {
    if (sink.closed) return;
    try {
      // A failed text may have been written in part: the next one begins on its own line.
      sink.write(trouble.isPresent ? `\n${text}` : text);
    } catch (error) {
      return trouble.set(messageOf(error));
    }
    trouble.set(sink.closed ? "its reader closed it" : null);
  });
}

/** The signals that come before the checks run: without a listener each would end the process by itself. */
export interface StartSignals {
  /** The exit code, once a signal came that stops the run. */
  readonly stopped: Promise<number>;
  /** Must be called when the run handles stop signals itself, or has ended. */
  stopIsHandled(): void;
  handleReload(callback: () => void): void;
  end(): void;
}

export function listenAtStart(system: System, { once }: { readonly once: boolean }): StartSignals {
  const { promise: stopped, resolve } = Promise.withResolvers<number>();
  const stopIsHandled = system.onStopSignal((signal) => {
    system.stderr.write(`monitor: stopped by ${signal} before any check ran\n`);
    resolve(once ? stopCode(signal) : EXIT.ok);
  });
  let isReloadWaiting = false;
  let onReload = (): void => void (isReloadWaiting = true);
  const endReloads = once ? () => {} : system.onReloadSignal(() => onReload());
  return {
    stopped,
    stopIsHandled,
    handleReload: (callback) => {
      onReload = callback;
      if (isReloadWaiting) callback();
    },
    end: () => {
      stopIsHandled();
      endReloads();
    },
  };
}

/** Aborts a run at the first stop signal. Until then, `code` is `null`. */
export function abortOnStop(
  { onStopSignal }: Pick<System, "onStopSignal">,
): { readonly signal: AbortSignal; readonly code: number | null; end(): void } {
  const abort = new AbortController();
  let code: number | null = null;
  const end = onStopSignal((signal) => {
    code ??= stopCode(signal);
    abort.abort(new Error(`Stopped by ${signal}`));
  });
  return {
    ...{ signal: abort.signal, end },
    get code() {
      return code;
    },
  };
}

export function stopCode(signal: "SIGINT" | "SIGTERM"): number {
  return signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
}
