import assert from "node:assert/strict";
import { rehearsalKind } from "../../src/checks/rehearsal.ts";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { Channel } from "../../src/domain/channel.ts";
import type { CheckOf, CheckResult, CheckSettings } from "../../src/domain/check.ts";
import { type JobLog, type Store, StoreError } from "../../src/domain/store.ts";
import { timeText } from "../../src/shared/local_time.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { problemTexts } from "../support/observe_check.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function channelOf(name: string): Channel {
  return { kind: "console", parameters: {}, key: JSON.stringify(name), name };
}

function check(
  settings: Partial<CheckSettings> = {},
  parameters: Partial<CheckOf<"rehearsal">["parameters"]> = {},
): CheckOf<"rehearsal"> {
  const cron = parameters.cron ?? "0 10 * * *";
  const jobTimes = createCronReader()(cron, "UTC");
  return checkOf(
    "rehearsal",
    { channel: "ops", cron, confirmWithinMs: 6 * HOUR, conditionOnUnconfirmed: "critical", ...parameters },
    { name: "ops arrives", rehearsed: channelOf("ops"), ...jobTimes !== null && { jobTimes }, ...settings },
  );
}

/** A check with its memory, and the log of its confirmations. */
class Rehearsed {
  memory: string | null = null;
  notifies = true;
  pending: string | null = null;
  isAsked = false;
  readonly clock: FakeClock;
  readonly #store: Store;

  private constructor(clock: FakeClock, store: Store) {
    this.clock = clock;
    this.#store = store;
  }

  /** At midnight of a day. */
  static async begin(): Promise<Rehearsed> {
    const clock = createFakeClock();
    await clock.advance(DAY - clock.wallMs() % DAY);
    return new Rehearsed(clock, await openInMemoryStore());
  }

  async look(checked = check()): Promise<CheckResult> {
    const result = await rehearsalKind.observe(
      checked,
      contextOf({
        system: { clock: this.clock },
        jobs: { recall: (name, nowMs) => this.#store.job(name, nowMs) },
        memory: this.memory,
        notifies: this.notifies,
        undelivered: () => this.pending,
        isAsked: this.isAsked,
      }),
    );
    this.memory = result.memory ?? this.memory;
    return result;
  }

  /** What the endpoint does with the link. */
  async confirm(token: string): Promise<void> {
    const atMs = this.clock.wallMs();
    const end = { atMs, durationMs: null, how: "noted", exitCode: 0, reason: "", output: "Ada" } as const;
    await this.#store.keepJobRun("ops arrives", { id: token, startedAtMs: atMs, end }, atMs);
  }

  ago(ms: number): string {
    return timeText(this.clock.wallMs() - ms);
  }
}

Deno.test("a rehearsal is sent at its time, once, and is proven by its confirmation", async () => {
  const rehearsed = await Rehearsed.begin();
  const { clock } = rehearsed;
  await clock.advance(9 * HOUR);
  const before = await rehearsed.look();
  assert.equal(before.output, `never proven, the first rehearsal is sent at ${rehearsed.ago(-HOUR)}`);
  assert.deepEqual([before.condition, before.awaits, before.rehearsal], ["unknown", "job", undefined]);
  await clock.advance(HOUR);
  const sent = await rehearsed.look();
  const queuedAt = rehearsed.ago(0);
  assert.equal(sent.output, `never proven, queued at ${queuedAt}`);
  assert.deepEqual([sent.condition, sent.awaits], ["unknown", "job"]);
  assert.equal(sent.rehearsal?.channel.name, "ops");
  const token = sent.rehearsal?.token ?? "";
  assert.match(token, /^[\da-f-]{36}$/);
  await clock.advance(MINUTE);
  rehearsed.pending = "status is 503";
  const refused = await rehearsed.look();
  assert.equal(refused.output, `never proven, queued at ${queuedAt} and not delivered yet: status is 503`);
  assert.equal(refused.rehearsal, undefined, "once");
  rehearsed.pending = null;
  assert.equal((await rehearsed.look()).output, `never proven, sent at ${queuedAt} and not confirmed yet`);
  assert.equal(rehearsalKind.rehearsalOf?.(rehearsed.memory, `"ops"`)?.token, token);
  assert.equal(rehearsalKind.rehearsalOf?.(rehearsed.memory, `"pager"`), null);
  await rehearsed.confirm("another");
  assert.equal((await rehearsed.look()).condition, "unknown");
  await rehearsed.confirm(token);
  const proven = await rehearsed.look();
  assert.equal(proven.condition, "ok");
  assert.equal(
    proven.output,
    `last proven at ${rehearsed.ago(0)} by Ada, the next rehearsal is sent at ${rehearsed.ago(MINUTE - DAY)}`,
  );
  assert.deepEqual(proven.metrics, {
    last_sent_timestamp_seconds: (clock.wallMs() - MINUTE) / 1000,
    last_proven_timestamp_seconds: clock.wallMs() / 1000,
  });
});

Deno.test("the first rehearsal without a confirmation counts, until the last one is confirmed", async () => {
  const rehearsed = await Rehearsed.begin();
  const { clock } = rehearsed;
  const hourly = check({}, { cron: "@hourly" });
  await rehearsed.look(hourly);
  const tokens: string[] = [];
  for (let hour = 1; hour < 7; hour++) {
    await clock.advance(HOUR);
    const { condition, rehearsal } = await rehearsed.look(hourly);
    tokens.push(rehearsal?.token ?? assert.fail(`nothing is sent in hour ${hour}`));
    assert.equal(condition, "unknown");
  }
  await clock.advance(HOUR);
  const late = await rehearsed.look(hourly);
  assert.equal(
    late.output,
    `not proven: the rehearsal of ${
      rehearsed.ago(6 * HOUR)
    } was not confirmed within 6 h, never proven; another one is queued`,
  );
  assert.deepEqual([late.condition, late.awaits], ["critical", undefined]);
  await rehearsed.confirm(tokens.at(-1) ?? "");
  assert.equal((await rehearsed.look(hourly)).condition, "critical", "the link of an older one");
  await rehearsed.confirm(late.rehearsal?.token ?? "");
  assert.equal((await rehearsed.look(hourly)).condition, "ok");
});

Deno.test("a channel that was proven is ok until its next rehearsal is overdue", async () => {
  const rehearsed = await Rehearsed.begin();
  const { clock } = rehearsed;
  await rehearsed.look();
  await clock.advance(10 * HOUR);
  await rehearsed.confirm((await rehearsed.look()).rehearsal?.token ?? "");
  await rehearsed.look();
  await clock.advance(DAY);
  const sent = await rehearsed.look();
  assert.match(sent.output, /^last proven at .* by Ada, queued at .*$/);
  assert.equal(sent.condition, "ok");
  const asWarning = check({}, { conditionOnUnconfirmed: "warning" });
  await clock.advance(6 * HOUR - 1);
  assert.equal((await rehearsed.look(asWarning)).condition, "ok");
  await clock.advance(1);
  const { condition, output } = await rehearsed.look(asWarning);
  assert.equal(condition, "warning");
  assert.match(
    output,
    /^not proven: the rehearsal of .* was not confirmed within 6 h, last proven at .* by Ada; the link of the last message still works$/,
  );
  rehearsed.isAsked = true;
  const again = await rehearsed.look(asWarning);
  assert.match(again.output, /by Ada; another one is queued$/);
  await rehearsed.confirm(again.rehearsal?.token ?? "");
  const proven = await rehearsed.look(asWarning);
  assert.deepEqual([proven.condition, proven.rehearsal], ["ok", undefined], "one that is proven waits");
});

Deno.test("nothing is sent without notifications, which proves nothing", async () => {
  const rehearsed = await Rehearsed.begin();
  const { clock } = rehearsed;
  await rehearsed.look();
  rehearsed.notifies = false;
  await clock.advance(10 * HOUR);
  const { condition, output, rehearsal } = await rehearsed.look();
  assert.deepEqual([condition, rehearsal], ["unknown", undefined]);
  assert.equal(output, "not sent, since notifications are off: never proven");
  rehearsed.notifies = true;
  assert.notEqual((await rehearsed.look()).rehearsal, undefined, "later");
});

Deno.test("a clock that was set back, and another channel, send no rehearsal early and prove nothing", async () => {
  const rehearsed = await Rehearsed.begin();
  const { clock } = rehearsed;
  await rehearsed.look();
  await clock.advance(10 * HOUR);
  await rehearsed.confirm((await rehearsed.look()).rehearsal?.token ?? "");
  assert.equal((await rehearsed.look()).condition, "ok");
  const other = await rehearsed.look(check({ rehearsed: channelOf("pager") }, { channel: "pager" }));
  assert.deepEqual([other.condition, other.rehearsal], ["unknown", undefined]);
  assert.match(other.output, /^never proven, the first rehearsal/);
  clock.stepWall(-5 * DAY);
  assert.equal((await rehearsed.look()).rehearsal, undefined);
  await clock.advance(DAY);
  assert.notEqual((await rehearsed.look()).rehearsal, undefined);
});

Deno.test("without a state nothing is sent, and the check is unknown", async () => {
  const observe = (jobs: JobLog | null, memory?: string | null): Promise<CheckResult> =>
    rehearsalKind.observe(
      check(),
      contextOf({ jobs, notifies: true, ...memory !== undefined && { memory } }),
    );
  const failing: JobLog = { recall: () => Promise.reject(new StoreError("cannot read it", "busy")) };
  assert.equal((await observe(null, null)).output, "no data: no state is stored");
  assert.equal((await observe(failing)).output, "no data: no state is stored");
  const unread = await observe(failing, null);
  assert.deepEqual([unread.condition, unread.output], ["unknown", "no data: cannot read it"]);
  assert.equal(unread.rehearsal, undefined);
  await assert.rejects(observe({ recall: () => Promise.reject(new TypeError("bug")) }, null), /bug/);
});

Deno.test("the problem of a channel that the same channel alone would be notified of is an error", () => {
  const errorsOf = (...names: readonly string[]): readonly string[] =>
    problemTexts(rehearsalKind.errors?.(check({ notifications: names.map(channelOf) })));
  assert.deepEqual(errorsOf(), []);
  assert.deepEqual(errorsOf("pager"), []);
  assert.deepEqual(errorsOf("ops", "pager"), []);
  assert.deepEqual(errorsOf("ops"), [
    'channel: is the only channel in the "notifications" of the check too, expected another one there',
  ]);
});
