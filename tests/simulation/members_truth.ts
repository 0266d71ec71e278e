/** Compares what members decided and sent with the truth: each state of a target (a period) names itself in an output. */

interface Sent {
  readonly check: string;
  readonly id: string;
  readonly event: string;
  readonly output: string;
  readonly missed_problem: { readonly id: string; readonly output: string } | null;
}

interface Story {
  readonly name: string;
  /** The periods of the stored changes, in order; even ones are ok. */
  readonly decided: readonly number[];
  readonly posts: readonly Sent[];
  /** The period that its target is in. */
  readonly present: number;
  /** Then several decide: what was over by then may be sent with what came after it, twice or late. */
  readonly hasFailedOpen: boolean;
  periodIn(sent: { readonly output: string }): number;
}

/** Returns what must not be: each period is decided once and in order, and sent under one id. */
export function compareWithTruth(
  { name, decided, posts, present, hasFailedOpen, periodIn }: Story,
): readonly string[] {
  const differences: string[] = [];
  const report = (text: string): void => void differences.push(`${name}: ${text}`);
  for (const [index, period] of decided.entries()) {
    const before = decided[index - 1] ?? 0;
    if (period <= before || (period - before) % 2 === 0) report(`decided ${period} after ${before}`);
  }
  const ids = new Set<string>();
  const heard = new Set<number>();
  let last = 0;
  const hear = (id: string, event: string, output: string): void => {
    const period = periodIn({ output });
    if (ids.has(id)) return;
    ids.add(id);
    const isFine = decided.includes(period) && period > last && (period % 2 === 0) === (event === "recovery");
    if (!isFine && !hasFailedOpen) report(`${event} of period ${period} after ${last} (${id.slice(0, 8)})`);
    heard.add(period);
    last = Math.max(last, period);
  };
  const own = posts.filter(({ check }) => check === name);
  for (const { id, output, event, missed_problem: missed } of own) {
    if (missed !== null) hear(missed.id, "problem", missed.output);
    hear(id, event, output);
  }
  for (const period of decided) {
    if (!heard.has(period) && !(hasFailedOpen && period < last)) report(`period ${period} was not notified`);
  }
  const latest = periodIn(own.at(-1) ?? { output: "" });
  if (latest !== present) report(`was sent period ${latest} last, but is in ${present}`);
  return differences;
}
