import type { System } from "../../domain/system.ts";
import { EXIT } from "../command_definition.ts";

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
    signal: abort.signal,
    get code() {
      return code;
    },
    end,
  };
}

export function stopCode(signal: "SIGINT" | "SIGTERM"): number {
  return signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
}
