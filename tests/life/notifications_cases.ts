/** Deliveries of the real program to servers that fail, while the program fails in every way. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { startScriptedServer } from "../support/mail_server.ts";
import { until } from "./in_time.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import { type Post, startHook, startMailbox } from "./receivers.ts";
import { assertAllNotified, changesOf, withoutDuplicates } from "./notified.ts";
import { testRandom } from "../../testing/seed.ts";

const random = testRandom("kills while notifying");

const test = concurrentTests("monitor check: reports");

const ONCE = ["check", "--once"] as const;

/** A check that is critical while its file lacks. */
function fileCheck(
  path: string,
  others: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    kind: "file_timestamp",
    parameters: { path: `./${path}`, condition_on_missing: "critical" },
    ...others,
  };
}

function writeConfig(
  harness: Harness,
  channels: readonly unknown[],
  checks: Readonly<Record<string, unknown>>,
  others: Readonly<Record<string, unknown>> = {},
): void {
  harness.writeConfig(checks, {
    defaults: { threshold: 1, schedule: { regular_interval: 1 }, notifications: channels },
    state: "kept.sqlite",
    ...others,
  });
  // A password readable by others would cause a warning.
  Deno.chmodSync(`${harness.directory}/monitor.json`, 0o600);
}

const appear = ({ directory }: Harness, path: string): void =>
  Deno.writeTextFileSync(`${directory}/${path}`, "");
const vanish = ({ directory }: Harness, path: string): void => Deno.removeSync(`${directory}/${path}`);

test("monitor check --once: a mail server that is down for three calls gets one mail, dated at the decision", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    writeConfig(harness, [mailbox.channel], { web: fileCheck("web") });
    mailbox.isUp = false;
    const beganMs = Date.now();
    const first = await harness.run(ONCE);
    const endedMs = Date.now();
    assert.equal(first.code, 2);
    assert.match(
      first.stderr,
      /the notification of "web" not delivered to email to admin@example\.org: .*next run/,
    );
    for (let call = 2; call <= 3; call++) {
      assert.equal((await harness.run(ONCE)).stderr, "", "the failure is said once");
    }
    assert.ok(mailbox.attempts >= 3);
    mailbox.isUp = true;
    for (let call = 4; call <= 5; call++) assert.equal((await harness.run(ONCE)).stderr, "");
    const [mail, ...others] = await mailbox.read();
    assert.deepEqual(others, []);
    assert.equal(mail?.subject, "[ops] CRITICAL: web");
    const { dateMs = 0 } = mail ?? {};
    assert.ok(dateMs >= beganMs - 1000 && dateMs <= endedMs, "a mail's date has whole seconds");
  }));

test("monitor check: what waits for a mail server goes when it is stopped, once, and not again by the next one", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    writeConfig(harness, [mailbox.channel], { web: fileCheck("web") });
    mailbox.isUp = false;
    const program = harness.start(["check"]);
    await program.stderr.next('the notification of "web" not delivered to email to admin@example.org');
    mailbox.isUp = true;
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    assert.equal(mailbox.raw.length, 1);
    await harness.run(ONCE);
    assert.equal(mailbox.raw.length, 1);
  }));

test("monitor check --once: a problem and its recovery that wait for a mail server are told in one mail, exit 69", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    writeConfig(harness, [mailbox.channel], { web: fileCheck("web") });
    mailbox.isUp = false;
    assert.equal((await harness.run(ONCE)).code, 2);
    appear(harness, "web");
    const waiting = await harness.run(ONCE);
    assert.equal(waiting.code, 69, "all is well but for the notifications that wait");
    assert.equal(waiting.stderr, "monitor: 1 notification is pending, see: monitor status\n");
    const status = await harness.run(["status"]);
    assert.match(status.stdout, /email to admin@example\.org/, "it is shown what waits");
    mailbox.isUp = true;
    assert.equal((await harness.run(ONCE)).code, 0);
    const mails = await mailbox.read();
    assert.equal(mails.length, 1);
    assert.match(mails[0]?.subject ?? "", /^\[ops\] OK: web \(was CRITICAL from .* to .* UTC\)$/);
    assert.match(mails[0]?.text ?? "", /The problem recovered before it was sent/);
  }));

// Alone: their results come within the batching delay only if nothing else competes.
Deno.test("monitor check --once: 500 checks that fail at once are one email, as is their recovery", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    const names = Array.from({ length: 500 }, (_, index) => `check ${index}`);
    const conditions = ["unknown", "warning", "critical"];
    writeConfig(
      harness,
      [mailbox.channel],
      Object.fromEntries(names.map((name, index) => [name, {
        kind: "file_timestamp",
        parameters: { path: "./all", condition_on_missing: conditions[index % 3] },
      }])),
    );
    assert.equal((await harness.run(ONCE)).code, 2);
    appear(harness, "all");
    assert.equal((await harness.run(ONCE)).code, 0);
    const [problem, recovery, ...others] = await mailbox.read();
    assert.deepEqual(others, []);
    assert.match(
      problem?.subject ?? "",
      /^\[ops\] 166 CRITICAL, 167 WARNING, 167 UNKNOWN: check \d+ and 499 more$/,
    );
    const words = (problem?.text ?? "").split("\n").flatMap((line) =>
      /^([A-Z]+): check \d+$/.exec(line)?.[1] ?? []
    );
    assert.equal(words.length, 500);
    assert.deepEqual(words, words.toSorted((one, other) => LOUDNESS.indexOf(one) - LOUDNESS.indexOf(other)));
    assert.match(recovery?.subject ?? "", /^\[ops\] 500 OK: check \d+ and 499 more$/);
    assert.ok(recovery?.references.includes(problem?.messageId ?? "none"), "it is shown with the problem");
    for (const mail of [problem, recovery]) {
      assert.ok((mail?.text ?? "").length < 150_000, "a few lines each");
      for (const name of names) assert.ok(mail?.text.includes(`: ${name}\n`), name);
    }
  }));

/** A script that ends when a file appears. */
function writeSlowScript(harness: Harness): Readonly<Record<string, unknown>> {
  harness.writeScript("slow.sh", "while [ ! -e go ]; do sleep 0.05; done");
  return { kind: "script", parameters: { path: "./slow.sh" } };
}

Deno.test("monitor check --once: a notification is sent while a slower check runs, and a kill loses no finished check", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    const slow = writeSlowScript(harness);
    writeConfig(harness, [hook.channel], {
      bad: fileCheck("web"),
      good: { kind: "test", parameters: { condition: "ok" } },
      slow,
    });
    const program = harness.start(ONCE);
    await until("the notification", () => hook.posts.length > 0);
    program.signal("SIGKILL");
    await program.end();
    assert.deepEqual(hook.posts.flatMap(({ notifications }) => notifications.map(({ check }) => check)), [
      "bad",
    ]);
    const { checks } = JSON.parse((await harness.run(["status", "--format", "json"])).stdout);
    assert.deepEqual(
      checks.map(({ name, condition }: { name: string; condition: string }) => [name, condition]),
      [["bad", "critical"], ["good", "ok"], ["slow", "unknown"]],
    );
    appear(harness, "go");
    assert.equal((await harness.run(ONCE)).code, 2);
    assert.equal(withoutDuplicates(hook.posts).length, 1);
  }));

const LOUDNESS: readonly string[] = ["CRITICAL", "WARNING", "UNKNOWN", "OK"];

/** The number of kills; in the soak 200: `KILL_ROUNDS=200 deno test -A tests/life/delivery_test.ts`. */
const ROUNDS = Number(Deno.env.get("KILL_ROUNDS") ?? 5);
const KILL_WITHIN_MS = 350;
const CALLS_FOR_A_KILL = 10;
const KILLED_CHECKS = 10;

test("monitor check --once: every notification arrives whenever it is killed, duplicates under one id, and none is invented", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    await using mailbox = await startMailbox();
    hook.delayMs = () => random.below(150);
    const names = Array.from({ length: KILLED_CHECKS }, (_, index) => `check ${index}`);
    const checks = Object.fromEntries(names.map((name) => [name, fileCheck("flag")]));
    writeConfig(harness, [hook.channel, mailbox.channel], checks);
    let kills = 0;
    let calls = 0;
    // On a fast machine, some complete first.
    for (; kills < ROUNDS && calls < ROUNDS * CALLS_FOR_A_KILL; calls++) {
      if (calls % 2 === 1) appear(harness, "flag");
      else if (calls > 0) vanish(harness, "flag");
      const program = harness.start([...ONCE, "--format", "ndjson"]);
      await program.stdout.next("{");
      if (await killWithin(program, random.below(KILL_WITHIN_MS))) kills++;
    }
    hook.delayMs = () => 0;
    for (let call = 0; call < 2; call++) await harness.run(ONCE);
    assert.equal(kills, ROUNDS, `of ${calls} calls`);
    const posts = withoutDuplicates(hook.posts);
    console.log(
      `${kills} kills of ${calls} calls, ${hook.posts.length} posts, ${
        hook.posts.length - posts.length
      } twins`,
    );
    for (const name of names) {
      assertAllNotified(
        posts.flatMap(({ notifications }) => notifications.filter(({ check }) => check === name)),
        changesOf(harness, name),
      );
    }
    const mails = new Map<string, string>();
    for (const { messageId, subject, text } of await mailbox.read()) {
      const words = `${subject}\n${text}`;
      assert.equal(mails.get(messageId) ?? words, words, "a twin tells the same");
      mails.set(messageId, words);
    }
    assert.ok(mails.size > 0);
    assert.equal(new Set(mails.values()).size, mails.size, "what is told twice has one id");
  }));

async function killWithin(program: Program, ms: number): Promise<boolean> {
  const timer = setTimeout(() => program.signal("SIGKILL"), ms);
  const { code } = await program.end();
  clearTimeout(timer);
  return code === 137;
}

/** How many checks run each second. */
const RESULTS_A_SECOND = 60;

test("monitor check: a mail server that accepts and never speaks moves no check", () =>
  withHarness(async (harness) => {
    let visitors = 0;
    await using server = startScriptedServer(async (visitor) => {
      visitors++;
      await visitor.untilGone();
    });
    await using mailbox = await startMailbox();
    const { parameters } = mailbox.channel as {
      readonly parameters: { readonly access: Readonly<Record<string, unknown>> };
    };
    const channel = {
      ...mailbox.channel,
      parameters: { ...parameters, access: { ...parameters.access, port: server.port } },
    };
    const names = Array.from({ length: RESULTS_A_SECOND }, (_, index) => `check ${index}`);
    appear(harness, "flag");
    writeConfig(harness, [channel], Object.fromEntries(names.map((name) => [name, fileCheck("flag")])));
    const program = harness.start(["check", "--format", "ndjson"]);
    await lag(program, RESULTS_A_SECOND);
    const before = await lag(program, RESULTS_A_SECOND);
    vanish(harness, "flag");
    await until("a visit to the mail server", () => visitors > 0);
    // Lines printed before it arrived are skipped.
    await lag(program, RESULTS_A_SECOND);
    const during = await lag(program, 3 * RESULTS_A_SECOND);
    console.log(`latest run: ${before} ms late before, ${during} ms while the mail server hangs`);
    assert.ok(during < 5_000, `${during} ms late`);
  }));

/** Returns how late the latest of the next runs is. */
async function lag(program: Program, runs: number): Promise<number> {
  let latest = 0;
  for (let run = 0; run < runs; run++) {
    latest = Math.max(latest, Number((await program.stdout.event("result"))["late_ms"]));
  }
  return Math.round(latest);
}

test("monitor silence: holds back the notifications of a running monitor, and its end lets them through", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    writeConfig(harness, [hook.channel], { web: fileCheck("web"), other: fileCheck("other") });
    appear(harness, "web");
    appear(harness, "other");
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result", ({ name }) => name === "web");
    assert.equal((await harness.run(["silence", "web", "--for", "1h", "--reason", "deploy"])).code, 0);
    vanish(harness, "web");
    vanish(harness, "other");
    await until("the notification of the other one", () => hook.posts.length > 0);
    for (let runs = 0; runs < 2; runs++) {
      await program.stdout.event(
        "result",
        ({ name, confirmed }) => name === "web" && confirmed === "critical",
      );
    }
    assert.deepEqual(checksNotified(hook.posts), ["other"]);
    assert.match((await harness.run(["silence", "--list"])).stdout, /^web: silenced until .* \(deploy\)$/m);
    assert.equal((await harness.run(["unsilence", "web"])).stdout, "ended 1 silence\n");
    await until("the notification that was held back", () => hook.posts.length > 1);
    assert.deepEqual(checksNotified(hook.posts), ["other", "web"]);
  }));

test("monitor maintenance: suppresses notifications of a running monitor, also of a check that gets the tag later", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    const front = { tags: ["front"] };
    writeConfig(harness, [hook.channel], { web: fileCheck("web", front), other: fileCheck("other") });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result", ({ name }) => name === "web");
    await until(
      "the notification of both",
      () => hook.posts.length > 0 && checksNotified(hook.posts).length > 1,
    );
    const maintenance = (...args: readonly string[]) => harness.run(["maintenance", ...args]);
    assert.equal((await maintenance("start", "--tag", "front", "--for", "1h", "--id", "deploy")).code, 0);
    assert.equal((await harness.run(["unsilence", "--all"])).stdout, "ended 0 silences\n");
    writeConfig(harness, [hook.channel], {
      web: fileCheck("web", front),
      new: fileCheck("new", front),
      other: fileCheck("other"),
    });
    assert.equal((await harness.run(["reload"])).code, 0);
    appear(harness, "web");
    appear(harness, "other");
    await program.stdout.event("result", ({ name, confirmed }) => name === "web" && confirmed === "ok");
    await program.stdout.event("result", ({ name, confirmed }) => name === "new" && confirmed === "critical");
    await until("the recovery of the other one", () => checksNotified(hook.posts).length > 2);
    assert.deepEqual(checksNotified(hook.posts).toSorted(), ["other", "other", "web"]);
    assert.match(
      (await harness.run(["status"])).stdout,
      /^maintenance: "web" for .*\nmaintenance: "new" for /m,
    );
    assert.equal((await maintenance("end", "--id", "deploy")).stdout, "ended 1 maintenance window\n");
    await until("what was suppressed", () => checksNotified(hook.posts).length > 4);
    assert.deepEqual(checksNotified(hook.posts).toSorted(), ["new", "other", "other", "web", "web"]);
  }));

function checksNotified(posts: readonly Post[]): readonly string[] {
  return posts.flatMap(({ notifications }) => notifications.map(({ check }) => check));
}

test("monitor check --once: depends_on holds a problem back, and never a recovery", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    writeConfig(harness, [hook.channel], {
      web: fileCheck("web", { depends_on: ["router"] }),
      router: fileCheck("router"),
    });
    const notified = (): readonly string[] =>
      hook.posts.flatMap(({ notifications }) => notifications.map(({ check, event }) => `${check} ${event}`));
    await harness.run(ONCE);
    assert.deepEqual(notified(), ["router problem"]);
    appear(harness, "router");
    await harness.run(ONCE);
    assert.deepEqual(notified().slice(1).toSorted(), ["router recovery", "web problem"]);
    appear(harness, "web");
    vanish(harness, "router");
    await harness.run(ONCE);
    assert.deepEqual(notified().slice(3).toSorted(), ["router problem", "web recovery"]);
  }));

test("monitor check --once: depends_on a check that is inactive or not selected suppresses nothing", (addCase) => {
  for (const way of ["inactive", "not named", "not tagged"]) {
    addCase(way, () =>
      withHarness(async (harness) => {
        await using hook = startHook();
        writeConfig(harness, [hook.channel], {
          web: fileCheck("web", { depends_on: ["router"], tags: ["front"] }),
          router: fileCheck("router"),
        });
        // A problem of the router is recorded before.
        await harness.run([...ONCE, "router"]);
        writeConfig(harness, [hook.channel], {
          web: fileCheck("web", { depends_on: ["router"], tags: ["front"] }),
          router: fileCheck("router", { active: way !== "inactive" }),
        });
        const chosen = { "inactive": [], "not named": ["web"], "not tagged": ["--tag", "front"] }[way];
        const { stderr } = await harness.run([...ONCE, ...chosen ?? []]);
        assert.deepEqual(checksNotified(hook.posts), ["router", "web"]);
        assert.equal(/"router", which is inactive and suppresses nothing/.test(stderr), way === "inactive");
        if (way !== "inactive") return;
        assert.doesNotMatch((await harness.run(["status"])).stdout, /waits for/);
      }));
  }
});

test("monitor check: a dependency that runs once an hour delays no notification", (addCase) => {
  for (const args of [["check"], [...ONCE, "--due"]]) {
    for (const isRouterDown of [false, true]) {
      addCase(
        `${args.join(" ")}, ${isRouterDown ? "it is down" : "it is well"}`,
        () =>
          withHarness(async (harness) => {
            await using hook = startHook();
            writeConfig(harness, [hook.channel], {
              web: fileCheck("web", { depends_on: ["router"] }),
              router: fileCheck("router", { schedule: { regular_interval: "1 hour" } }),
            });
            appear(harness, "router");
            await harness.run([...ONCE, "router"]);
            if (isRouterDown) vanish(harness, "router");
            const program = harness.start(args);
            if (args[0] === "check" && args.length === 1) {
              await until("a notification", () => hook.posts.length > 0);
              program.signal("SIGTERM");
            }
            await program.end();
            assert.deepEqual(checksNotified(hook.posts), [isRouterDown ? "router" : "web"]);
          }),
      );
    }
  }
});

test("monitor check: the heartbeat is given while it runs, and after each call with --due", () =>
  withHarness(async (harness) => {
    writeConfig(harness, [], { web: { kind: "test", parameters: { condition: "ok" } } }, {
      heartbeat: { path: "./alive", interval: 1 },
    });
    const path = `${harness.directory}/alive`;
    const touchedMs = (): number | null => {
      try {
        return Deno.statSync(path).mtime?.getTime() ?? null;
      } catch {
        return null;
      }
    };
    const program = harness.start(["check"]);
    const firstMs = await until("the first sign", touchedMs);
    await until("another sign", () => (touchedMs() ?? 0) > firstMs);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    Deno.removeSync(path);
    assert.equal((await harness.run([...ONCE, "--due"])).code, 0);
    assert.notEqual(touchedMs(), null);
    Deno.removeSync(path);
    await harness.run(ONCE);
    assert.equal(touchedMs(), null, "a call by hand is no sign of life");
  }));

test("monitor check --once: a channel in the place of another is notified of what goes on, and what is dropped is logged", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    await using next = startHook();
    hook.status = 503;
    writeConfig(harness, [hook.channel], { web: fileCheck("web") });
    await harness.run(ONCE);
    assert.equal(hook.attempts, 1);
    next.status = 503;
    writeConfig(harness, [next.channel], { web: fileCheck("web") });
    const dropped =
      /the notification of "web" to webhook 127\.0\.0\.1:\d+ dropped: its check no longer has this channel/;
    assert.match((await harness.run(ONCE)).stderr, dropped);
    assert.deepEqual([hook.attempts, next.attempts, next.posts.length], [1, 1, 0]);
    writeConfig(harness, [], { web: fileCheck("web") });
    assert.match((await harness.run(ONCE)).stderr, dropped);
    assert.doesNotMatch((await harness.run(ONCE)).stderr, /given up/);
    assert.deepEqual([hook.attempts, next.attempts], [1, 1]);
  }));

test("monitor check --once --due: what was pending arrives, whatever was away from the config for one call", (addCase) => {
  const due = ["check", "--once", "--due"];
  const vanish: Readonly<Record<string, (harness: Harness, channel: unknown) => void>> = {
    "its channel": (harness) => writeConfig(harness, [], { web: fileCheck("web") }),
    "its check": (harness, channel) => writeConfig(harness, [channel], { other: fileCheck("other") }),
    "all of it, as with another config on the same state": (harness) =>
      writeConfig(harness, [], { other: fileCheck("other") }),
    "the file that has it": (harness) => {
      Deno.writeTextFileSync(`${harness.directory}/web.json`, "{}");
    },
  };
  for (const [name, leave] of Object.entries(vanish)) {
    addCase(name, () =>
      withHarness(async (harness) => {
        await using hook = startHook();
        const come = (): void => {
          const included = { checks: { web: { ...fileCheck("web"), notifications: [hook.channel] } } };
          Deno.writeTextFileSync(`${harness.directory}/web.json`, JSON.stringify(included), { mode: 0o600 });
          writeConfig(harness, [], {}, { include: ["./web.json"] });
        };
        hook.status = 503;
        come();
        await harness.run(due);
        assert.equal(hook.attempts, 1);
        leave(harness, hook.channel);
        await harness.run(due);
        come();
        hook.status = 200;
        await harness.run(ONCE);
        appear(harness, "web");
        await harness.run(ONCE);
        await harness.run(ONCE);
        assert.deepEqual(
          hook.posts.flatMap(({ notifications }) =>
            notifications.flatMap(({ check, event }) => check === "web" ? [event] : [])
          ),
          ["problem", "recovery"],
        );
      }));
  }
});

test("monitor check: a reload sends what was refused to the edited channel, and its recovery too", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    await using next = startHook();
    hook.status = 404;
    writeConfig(harness, [hook.channel], { web: fileCheck("web") });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stderr.next(
      /the notification of "web" rejected by webhook 127\.0\.0\.1:\d+: status is 404/,
    );
    writeConfig(harness, [next.channel], { web: fileCheck("web") });
    program.signal("SIGHUP");
    const conditions = (): readonly string[] =>
      next.posts.flatMap(({ notifications }) => notifications.map(({ condition }) => condition));
    await until("the problem", () => conditions().length > 0);
    appear(harness, "web");
    await until("the recovery", () => conditions().length > 1);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    assert.deepEqual(conditions(), ["critical", "ok"]);
    assert.equal(hook.posts.length, 0);
    assertAllNotified(
      withoutDuplicates(next.posts).flatMap(({ notifications }) => notifications),
      changesOf(harness, "web"),
    );
  }));

test("monitor check: a reload sends pending notifications to the edited channel of the same name, under the same id", () =>
  withHarness(async (harness) => {
    await using hook = startHook();
    await using next = startHook();
    // It accepts the message, but its response comes after the timeout.
    hook.delayMs = () => 2_000;
    const late = { kind: "webhook", parameters: { ...hook.channel["parameters"] as object, timeout: 1 } };
    const checks = { web: fileCheck("web"), mail: { kind: "test", parameters: { condition: "ok" } } };
    writeConfig(harness, ["chat"], checks, { channels: { chat: late } });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stderr.next(/the notification of "web" not delivered to chat: .*1 s/);
    // Another host, timeout and position in the list: only the name identifies it.
    writeConfig(harness, [{ kind: "console", parameters: {} }, "chat"], checks, {
      channels: { chat: next.channel },
    });
    program.signal("SIGHUP");
    await until("the problem", () => next.posts.length > 0);
    appear(harness, "web");
    await until("the recovery", () => next.posts.length > 1);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
    assert.deepEqual(
      next.posts.flatMap(({ notifications }) =>
        notifications.map(({ check, condition }) => [check, condition])
      ),
      [["web", "critical"], ["web", "ok"]],
    );
    assert.deepEqual([...new Set(hook.posts.map(({ key }) => key))], [next.posts[0]?.key]);
    assertAllNotified(next.posts.flatMap(({ notifications }) => notifications), changesOf(harness, "web"));
  }));

test("monitor check --once: a restart sends pending notifications to a channel of the same name and another kind", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    await using hook = startHook();
    mailbox.isUp = false;
    const checks = { web: fileCheck("web"), mail: fileCheck("mail") };
    writeConfig(harness, ["admins"], checks, { channels: { admins: mailbox.channel } });
    assert.match(
      (await harness.run(ONCE)).stderr,
      /2 notifications of "(?:web", "mail|mail", "web)" not delivered to admins: /,
    );
    writeConfig(harness, ["admins"], checks, { channels: { admins: hook.channel } });
    await harness.run(ONCE);
    appear(harness, "web");
    await harness.run(ONCE);
    assert.deepEqual(
      hook.posts.map(({ notifications }) =>
        notifications.map(({ check, condition }) => `${check} ${condition}`).sort()
      ),
      [["mail critical", "web critical"], ["web ok"]],
    );
    assert.equal(mailbox.raw.length, 0);
  }));
