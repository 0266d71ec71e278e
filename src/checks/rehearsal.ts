import { DAY_MS } from "../shared/time_units.ts";
import { timeText } from "../shared/local_time.ts";
import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type {
  CheckKindEntry,
  ObserveContext,
  ParameterProblem,
  SentRehearsal,
} from "../domain/check_kind.ts";
import type { RehearsalParameters } from "../domain/generated/config.ts";
import { exactDuration } from "../domain/duration.ts";
import type { EndedJobRun } from "../domain/store.ts";
import type { CronTimes } from "../domain/schedule.ts";
import { recallRuns } from "./job.ts";
import { withoutTarget } from "./targets.ts";

/**
 * The `rehearsal` kind. What it sent is in the memory of the check, so that it is stored in the transaction that queues
 * the message: of several processes, one sends it. Confirmations are runs of a job, whose id is the token.
 */
export const rehearsalKind: CheckKindEntry<"rehearsal"> = {
  observe: observeRehearsal,
  withoutLocations: "a rehearsal is sent and confirmed once, at no location",
  rehearsalOf: (memory, channelKey) => lastOf(readMemory(memory), channelKey),
  target: {
    ...withoutTarget("rehearsal"),
    textOf: ({ parameters: { channel } }) => `channel ${channel}`,
    subjectsOf: ({ parameters: { channel } }) => [`channel ${channel}`],
  },
  errors: findErrors,
  // The state that it reads is the monitor's own.
  requiredPermissions: () => ({}),
};

interface Memory {
  /** The channel that was rehearsed, as the config keys it. */
  readonly channelKey: string | null;
  /** When a rehearsal was last sent, of any channel, or the first run: the schedule goes on from there. */
  readonly fromMs: number | null;
  readonly last: SentRehearsal & { readonly provenBy: string } | null;
}

async function observeRehearsal(check: CheckOf<"rehearsal">, context: ObserveContext): Promise<CheckResult> {
  const { system: { clock, randomId }, memory, notifies = false, isAsked = false, undelivered } = context;
  const { parameters, rehearsed, jobTimes: times } = check;
  if (context.jobs === null || memory === undefined) return unknownResult("no data: no state is stored");
  if (rehearsed === undefined || times === undefined) return unknownResult("no data: it has no channel");
  const nowMs = clock.wallMs();
  const facts = await recallRuns(check.name, nowMs, context);
  if ("condition" in facts) return facts;
  const known = readMemory(memory);
  const beforeMs = known.fromMs ?? facts.sinceMs;
  // Far ahead: the clock was set back since. The clocks of several members differ by less.
  const fromMs = beforeMs - nowMs > DAY_MS ? nowMs : beforeMs;
  const last = confirmed(lastOf(known, rehearsed.key), facts.last);
  // One that is proven waits for its time.
  const isWanted = isAsked && last?.unprovenSinceMs !== null;
  const isDue = isWanted || times.after(fromMs) <= nowMs;
  const isSent = isDue && notifies;
  const next = isSent ? nextRehearsal(last, { token: randomId(), nowMs }) : last;
  const memoryAfter: Memory = { channelKey: rehearsed.key, fromMs: isSent ? nowMs : fromMs, last: next };
  const pending = isSent || next === null ? null : undelivered?.(next.token) ?? null;
  const result = evaluate(next, { parameters, times, isSent, pending, nowMs });
  return {
    ...isDue && !isSent && result.condition !== parameters.conditionOnUnconfirmed
      ? {
        ...result,
        ...unknownResult(`not sent, since notifications are off: ${describeProof(last, times.timeZone)}`),
      }
      : result,
    metrics: metricsOf(next),
    memory: JSON.stringify(memoryAfter),
    ...isSent && next !== null && { rehearsal: { channel: rehearsed, token: next.token } },
  };
}

function readMemory(memory: string | null): Memory {
  return memory === null ? { channelKey: null, fromMs: null, last: null } : JSON.parse(memory);
}

/** Returns the last rehearsal of a channel: that of another one proves nothing. */
function lastOf({ channelKey, last }: Memory, ofChannel: string): Memory["last"] {
  return channelKey === ofChannel ? last : null;
}

/** Returns a rehearsal after its confirmation, if the last one that was recorded is its own. */
function confirmed(last: Memory["last"], confirmation: EndedJobRun | null): Memory["last"] {
  if (last === null || confirmation === null || confirmation.id !== last.token) return last;
  const { atMs, output } = confirmation.end;
  return { ...last, unprovenSinceMs: null, provenAtMs: atMs, provenBy: output };
}

/** Without a confirmation of the one before, the time until one goes on. */
function nextRehearsal(
  last: Memory["last"],
  { token, nowMs }: { readonly token: string; readonly nowMs: number },
): NonNullable<Memory["last"]> {
  return {
    token,
    sentAtMs: nowMs,
    unprovenSinceMs: Math.min(last?.unprovenSinceMs ?? nowMs, nowMs),
    provenAtMs: last?.provenAtMs ?? null,
    provenBy: last?.provenBy ?? "",
  };
}

interface EvaluateOptions {
  readonly parameters: RehearsalParameters;
  readonly times: CronTimes;
  /** Whether this run queues it. */
  readonly isSent: boolean;
  /** Why the last one is not delivered yet, empty: it was not tried; `null`: it is delivered. */
  readonly pending: string | null;
  readonly nowMs: number;
}

/** The output names times, not ages: it is shown until the next run, with ages of that moment. */
function evaluate(
  last: Memory["last"],
  { parameters, times, isSent, pending, nowMs }: EvaluateOptions,
): CheckResult {
  const proof = describeProof(last, times.timeZone);
  const nextAt = timeText(times.after(nowMs), times.timeZone);
  if (last === null) return awaited(`${proof}, the first rehearsal is sent at ${nextAt}`);
  const { sentAtMs, unprovenSinceMs, provenAtMs } = last;
  if (unprovenSinceMs === null) return checkResult("ok", `${proof}, the next rehearsal is sent at ${nextAt}`);
  const { confirmWithinMs, conditionOnUnconfirmed } = parameters;
  const reason = pending === null || pending === "" ? "" : `: ${pending}`;
  if (nowMs - unprovenSinceMs >= confirmWithinMs) {
    const since = `the rehearsal of ${timeText(unprovenSinceMs, times.timeZone)}`;
    const hint = isSent
      ? "another one is queued"
      : pending === null
      ? "the link of the last message still works"
      : `not delivered yet${reason}`;
    const late = `${since} was not confirmed within ${exactDuration(confirmWithinMs)}`;
    return checkResult(conditionOnUnconfirmed, `not proven: ${late}, ${proof}; ${hint}`);
  }
  const sentAt = timeText(sentAtMs, times.timeZone);
  const delivery = isSent
    ? `queued at ${sentAt}`
    : pending === null
    ? `sent at ${sentAt} and not confirmed yet`
    : `queued at ${sentAt} and not delivered yet${reason}`;
  const output = `${proof}, ${delivery}`;
  return provenAtMs === null ? awaited(output) : checkResult("ok", output);
}

function describeProof(last: Memory["last"], timeZone: string | undefined): string {
  if (last === null || last.provenAtMs === null) return "never proven";
  const by = last.provenBy === "" ? "" : ` by ${last.provenBy}`;
  return `last proven at ${timeText(last.provenAtMs, timeZone)}${by}`;
}

function awaited(output: string): CheckResult {
  return { ...unknownResult(output), awaits: "job" };
}

function metricsOf(last: Memory["last"]): CheckResult["metrics"] {
  if (last === null) return {};
  const { sentAtMs, provenAtMs } = last;
  return {
    last_sent_timestamp_seconds: sentAtMs / 1000,
    ...provenAtMs !== null && { last_proven_timestamp_seconds: provenAtMs / 1000 },
  };
}

/** A problem of a channel that it alone is told of arrives nowhere. */
function findErrors({ parameters, notifications }: CheckOf<"rehearsal">): readonly ParameterProblem[] {
  const isAlone = notifications.length > 0 && notifications.every(({ name }) => name === parameters.channel);
  if (!isAlone) return [];
  const message = 'is the only channel in the "notifications" of the check too, expected another one there';
  return [{ path: ["channel"], message }];
}
