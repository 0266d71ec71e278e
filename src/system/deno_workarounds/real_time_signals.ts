/**
 * Workaround: the status of a child that a real-time signal has terminated rejects with "Invalid signal: 34", because the
 * runtime has no name for the signal.
 *
 * Upstream: no issue was found (in 2.7.11)
 */

export interface ChildEnd {
  /** 128 and the number of the signal, as in shells. */
  readonly code: number;
  /** Its name; the number of a real-time signal; `null` without one. */
  readonly signal: string | null;
}

export async function endOf(child: Deno.ChildProcess): Promise<ChildEnd> {
  try {
    return await child.status;
  } catch (error) {
    const number = error instanceof Error ? /\d+/.exec(error.message)?.[0] : undefined;
    return { code: 128 + Number(number ?? 0), signal: number ?? "of unknown number" };
  }
}
