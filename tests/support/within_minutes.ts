/**
 * Runs programs that end by themselves, and ends them by the signal where they do not: a test that waits for ever tells
 * nobody what it waits for. The limit is at least ten times what they take on a slow machine, so that only a fault meets it.
 *
 * @throws {Error} If the limit is met.
 */
export async function withinMinutes<T>(
  what: string,
  minutes: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(minutes * 60_000);
  const answer = await run(late);
  if (late.aborted) throw new Error(`${what} did not end within ${minutes} minutes`);
  return answer;
}
