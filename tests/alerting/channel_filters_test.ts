/** The notifications that pass the filters of channels, decided and delivered with a fake clock. */
import assert from "node:assert/strict";
import type { Channel, ChannelFilters } from "../../src/domain/channel.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { MaintenanceWindow } from "../../src/domain/maintenance_window.ts";
import { testCheck } from "../support/checks.ts";
import { silenceOf } from "../state/records.ts";
import { type Desk, openDesk, START } from "./desk.ts";
import { testRows } from "../support/rows.ts";

const MINUTE = 60_000;
/** Midnight of the day on which tests begin, UTC. */
const MIDNIGHT = START - START % (24 * 60 * MINUTE);

/** A window in minutes after the tests begin. */
function hours(fromMinute: number, toMinute: number): MaintenanceWindow {
  const begun = (START - MIDNIGHT) / MINUTE;
  return { fromMinute: (begun + fromMinute) % 1440, toMinute: (begun + toMinute) % 1440, timeZone: "UTC" };
}

/** Settings of a check, and the filters of a third channel. */
interface Others {
  readonly other?: ChannelFilters;
  /** @default no reminders */
  readonly reminders?: number | readonly number[];
  readonly flapping?: "once";
}

/**
 * The filters; `minute step`, where a step is a result or of another kind, such as `mute`, a silence for all problems;
 * and `minute event condition`, as the channel gets them.
 */
type Row = readonly [filters: ChannelFilters, steps: string, expected: string, Others?];

/** Returns the notifications of a check with a channel that filters, and of one that gets everything. */
async function sentIn(
  filters: ChannelFilters,
  steps: string,
  { other, reminders, flapping }: Others = {},
): Promise<{ filtered: string; all: string }> {
  const channel = (key: string, own: ChannelFilters): Channel => ({
    kind: "console",
    key,
    parameters: {},
    ...own,
  });
  const check = {
    ...testCheck("ok", { name: "web" }),
    reminders: reminders ?? false,
    ...flapping !== undefined && { flapping },
    notifications: [
      channel("all", {}),
      channel("filtered", filters),
      ...other === undefined ? [] : [channel("other", other)],
    ],
  };
  let desk = await openDesk([check]);
  const sent: Record<string, string[]> = { all: [], filtered: [] };
  const collect = (minute: number, from: Desk): void => {
    for (const event of from.events.splice(0)) {
      if (event.event !== "delivered") continue;
      for (const { channelKey, notification } of event.notifications) {
        sent[channelKey]?.push(`${minute} ${notification.event} ${notification.condition}`);
      }
    }
  };
  for (const [time, step = ""] of steps.split(", ").map((one) => one.split(" "))) {
    const minute = Number(time);
    await desk.clock.advance(START + minute * MINUTE - desk.clock.wallMs());
    await desk.notifying.refresh();
    if (step === "restart") {
      await desk.notifying.stop();
      desk = await openDesk([check], { clock: desk.clock, store: desk.store });
    } else if (step === "review") await desk.review(check);
    else if (step === "unsilence") await desk.store.endSilences("all", desk.clock.wallMs());
    else if (step === "acknowledge" || step === "silence" || step === "mute") {
      const kind = step === "acknowledge" ? "acknowledgement" : "silence";
      const fromMs = desk.clock.wallMs();
      const { problemBeganAtMs: beganAtMs } = desk.repository.recordOf(check.name, fromMs).condition;
      const problemBeganAtMs = step === "mute" ? null : beganAtMs;
      await desk.store.addSilences([
        silenceOf("s", {
          check: check.name,
          kind,
          problemBeganAtMs,
          fromMs,
          untilMs: fromMs + 1000 * MINUTE,
        }),
      ]);
    } else await desk.observe(check, step as Condition);
    await desk.drain();
    collect(minute, desk);
  }
  return { filtered: sent["filtered"]?.join(", ") ?? "", all: sent["all"]?.join(", ") ?? "" };
}

const ROWS: Readonly<Record<string, Row>> = {
  "no filter": [{}, "0 critical, 1 warning, 2 ok", "0 problem critical, 1 change warning, 2 recovery ok"],
  "conditions: an unlisted one is ok": [
    { conditions: ["critical"] },
    "0 warning, 1 critical, 2 warning, 3 critical, 4 ok, 5 unknown",
    "1 problem critical, 2 recovery warning, 3 problem critical, 4 recovery ok",
  ],
  "conditions: one that is worse and unlisted ends no problem": [
    { conditions: ["warning"] },
    "0 warning, 1 critical, 7 critical, 8 warning, 14 warning, 15 critical, 16 ok, 17 critical, 18 ok",
    "0 problem warning, 14 reminder warning, 16 recovery ok",
    { reminders: 5 * MINUTE },
  ],
  "conditions: an unlisted unknown ends no problem": [
    { conditions: ["critical"] },
    "0 critical, 1 unknown, 2 restart, 3 unknown, 4 critical, 5 unknown, 6 warning, 7 critical, 8 unknown, 9 ok",
    "0 problem critical, 6 recovery warning, 7 problem critical, 9 recovery ok",
  ],
  "conditions: for unknown alone, what is found out is no recovery until it is ok": [
    { conditions: ["unknown"] },
    "0 unknown, 1 warning, 2 critical, 3 warning, 4 ok",
    "0 problem unknown, 4 recovery ok",
  ],
  "events: without recoveries, the next problem comes": [
    { events: ["problem"] },
    "0 warning, 1 critical, 2 ok, 3 warning, 4 ok",
    "0 problem warning, 3 problem warning",
  ],
  "events: recoveries alone": [{ events: ["recovery"] }, "0 warning, 1 critical, 2 ok", "2 recovery ok"],
  "after: over before": [{ afterMs: 15 * MINUTE }, "0 critical, 14 critical, 14.5 ok, 20 ok, 21 review", ""],
  "after: a problem that lasts, with its recovery": [
    { afterMs: 15 * MINUTE },
    "0 critical, 14 review, 15 review, 16 critical, 17 warning, 18 ok",
    "15 problem critical, 17 change warning, 18 recovery ok",
  ],
  "acknowledged": [{ afterMs: 15 * MINUTE }, "0 critical, 10 acknowledge, 15 review, 16 critical, 17 ok", ""],
  "after: an acknowledgement ends with its problem": [
    { afterMs: 15 * MINUTE },
    "0 critical, 1 acknowledge, 2 ok, 3 critical, 18 review",
    "18 problem critical",
  ],
  "after with conditions: the time begins with the first listed one": [
    { afterMs: 15 * MINUTE, conditions: ["critical"] },
    "0 warning, 20 critical, 34 review, 35 review, 36 warning",
    "35 problem critical, 36 recovery warning",
  ],
  "hours: a problem that goes on when they begin": [
    { hours: [hours(60, 120)] },
    "0 critical, 59 review, 60 review, 61 critical, 121 ok",
    "60 problem critical, 121 recovery ok",
  ],
  "hours: a change outside them, when they begin again": [
    { hours: [hours(0, 60), hours(80, 120)] },
    "50 warning, 70 critical, 80 review, 95 ok",
    "50 problem warning, 80 change critical, 95 recovery ok",
  ],
  "hours: not outside, and not later": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "0 critical, 61 critical, 62 review, 63 ok, 64 critical, 121 ok",
    "64 problem critical, 121 recovery ok",
  ],
  "hours: a change within them is a separate problem": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "0 warning, 61 critical, 121 warning, 122 ok",
    "61 problem critical, 122 recovery ok",
  ],
  "hours: a problem that a silence suppressed until then": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "0 warning, 1 silence, 2 critical, 61 unsilence, 62 review",
    "62 problem critical",
  ],
  "hours and after: decided when the time is over": [
    { outsideHours: "never", hours: [hours(60, 120)], afterMs: 15 * MINUTE },
    "50 critical, 64 review, 65 review, 66 critical",
    "65 problem critical",
  ],
  "hours: not later, though the problem escalates to another channel within them": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "50 critical, 90 review, 91 critical, 92 review, 95 ok",
    "",
    { other: { afterMs: 40 * MINUTE } },
  ],
  "hours: a change after the escalation to another channel": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "50 warning, 90 review, 91 warning, 92 critical, 95 ok",
    "92 problem critical, 95 recovery ok",
    { other: { afterMs: 40 * MINUTE } },
  ],
  "hours: a problem like the last one, that a silence suppressed until then": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "0 critical, 1 mute, 2 ok, 3 critical, 61 unsilence, 62 review, 63 ok",
    "62 problem critical, 63 recovery ok",
  ],
  "hours: a reminder to other channels within them": [
    { outsideHours: "never", hours: [hours(60, 120)] },
    "0 critical, 61 critical, 62 critical, 67 critical, 68 ok",
    "",
    { reminders: 5 * MINUTE },
  ],
};

Deno.test("startNotifying() escalates a problem after the clock was set back", async (t) => {
  const rows: Readonly<Record<string, readonly [backMs: number, minutes: number]>> = {
    "by a little: once it has lasted as long again": [10 * MINUTE, 20],
    "by a day: at once": [24 * 60 * MINUTE, 0],
  };
  await testRows(t, rows, async ([backMs, minutes]) => {
    const late: Channel = { kind: "console", key: "late", parameters: {}, afterMs: 15 * MINUTE };
    const check = { ...testCheck("ok", { name: "web" }), notifications: [late] };
    const desk = await openDesk([check]);
    await desk.observe(check, "critical");
    await desk.clock.advance(5 * MINUTE);
    desk.clock.stepWall(-backMs);
    for (let minute = 0; minute <= minutes; minute++) {
      assert.equal(desk.lines.length, 0, `after ${minute} minutes`);
      await desk.review(check);
      await desk.drain();
      await desk.clock.advance(MINUTE);
    }
    assert.equal(desk.lines.length, 1);
  });
});

Deno.test("startNotifying() sends reminders at their intervals, though the problem escalates to another channel", async () => {
  const steps = "0 critical, 10 critical, 15 review, 26 critical, 30 critical, 50 critical";
  const reminders = [10 * MINUTE, 20 * MINUTE];
  const { all, filtered } = await sentIn({ afterMs: 15 * MINUTE }, steps, { reminders });
  const later = "30 reminder critical, 50 reminder critical";
  assert.equal(all, `0 problem critical, 10 reminder critical, ${later}`);
  assert.equal(filtered, `15 problem critical, ${later}`);
});

for (const [name, [filters, steps, expected, others]] of Object.entries(ROWS)) {
  Deno.test(`startNotifying() filters: ${name}`, async () => {
    const { filtered, all } = await sentIn(filters, steps, others);
    assert.equal(filtered, expected);
    assert.equal(all, (await sentIn({}, steps, others)).all, "an unfiltered channel is sent everything");
  });
}

Deno.test("startNotifying() sends a lasting problem that flaps once, and that it got worse", async () => {
  const steps = Array.from({ length: 120 }, (_, minute) => {
    if (minute < 30) return `${minute} ${minute % 4 < 2 ? "ok" : "critical"}`;
    return `${minute} ${minute % 2 === 0 ? "critical" : "warning"}`;
  });
  const { filtered } = await sentIn({ afterMs: 15 * MINUTE }, steps.join(", "), { flapping: "once" });
  assert.equal(filtered, "45 problem warning, 46 change critical");
});

Deno.test("startNotifying() sends the recovery of a problem that was silenced until ok", async () => {
  const { all } = await sentIn({}, "0 warning, 1 silence, 2 critical, 3 ok, 4 critical");
  assert.equal(all, "0 problem warning, 3 recovery ok, 4 problem critical");
});
