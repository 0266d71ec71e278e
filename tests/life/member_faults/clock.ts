/** Fake clocks of a process: Debian's libfaketime, which reads the time from a file. */

import { tool } from "../../../testing/tools.ts";

/** The clocks of one program. */
export interface MovableClock {
  /** The environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Moves the clocks, forwards or back. */
  move(seconds: number): void;
}

/**
 * Makes the clocks of one program, so many seconds away from the machine's. `wall`: the wall clock alone is moved, as
 * by hand or by a suspension, in which monotonic time stops. `both`: time passes on both, as while a process is
 * stopped.
 */
export function createMovableClock(
  path: string,
  { seconds, moves }: { readonly seconds: number; readonly moves: "wall" | "both" },
): MovableClock {
  let offset = seconds;
  const write = (): void => {
    // In one step, for it is read again and again.
    Deno.writeTextFileSync(`${path}.new`, `${offset < 0 ? "" : "+"}${offset.toFixed(3)}s\n`);
    Deno.renameSync(`${path}.new`, path);
  };
  write();
  return {
    environment: {
      LD_PRELOAD: tool("faketime"),
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_NO_CACHE: "1",
      ...moves === "wall" && { DONT_FAKE_MONOTONIC: "1" },
    },
    move: (by) => {
      offset += by;
      write();
    },
  };
}
