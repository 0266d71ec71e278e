/** An outage of many checks, and channels with a limit: in a service, under cron, and with two members. */
import assert from "node:assert/strict";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { HOUR_MS } from "../../src/shared/time_units.ts";
import { type FakeService, startFakeService } from "../support/fake_service.ts";
import { POSTGRES, sharedPostgres } from "../support/postgres.ts";
import { until, withInstallation } from "./installation.ts";
import { withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";

const START = Date.parse("2026-03-23T08:00:00Z");
const CHECK_COUNT = 28;

const postgres = sharedPostgres();

/** Returns the checks of a shop; all of them depend on its host. */
function shopChecks(): Readonly<Record<string, unknown>> {
  const targets = Array.from({ length: CHECK_COUNT }, (_, index) => `shop-${index + 1}`);
  return Object.fromEntries(
    targets.map((name) => [name, {
      kind: "http_request",
      parameters: { request: { target: "http://shop.example.org/" } },
    }]),
  );
}

function textsOf({ messages, clock }: FakeService, receiver: string): readonly string[] {
  return messages.filter((message) => message.receiver === receiver && message.atMs <= clock.wallMs())
    .map(({ text }) => text);
}

Deno.test("an outage costs as many text messages as the limit of the channel, also after a restart", async () => {
  const directory = await Deno.makeTempDir();
  const config = `${directory}/monitor.json`;
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      channels: {
        sms: {
          kind: "webhook",
          parameters: { target: "https://sms.example.org/", body: ["{{condition}} {{check}}: {{output}}"] },
          at_most: "5 per hour",
        },
        chat: { kind: "webhook", parameters: { target: "https://chat.example.org/" }, at_most: "1 per hour" },
        page: { kind: "webhook", parameters: { target: "https://page.example.org/", body: ["{{check}}"] } },
      },
      defaults: { threshold: 1, notifications: ["sms", "chat", "page"] },
      checks: shopChecks(),
    }),
  );
  const store = await openInMemoryStore();
  const options = { config, environment: {}, store };
  let sent: readonly string[] = [];
  {
    await using service = await startFakeService({ ...options, startMs: START });
    await service.clock.advance(5 * 60_000);
    service.conditions.set("shop.example.org", "critical");
    await service.clock.advance(10 * 60_000);
    sent = textsOf(service, "sms.example.org");
    assert.equal(sent.length, 5);
    for (const text of sent) assert.match(text, /^\["CRITICAL shop-\d+: /i);
    assert.equal(textsOf(service, "page.example.org").length, CHECK_COUNT, "a channel without a limit");
    assert.match(
      service.log,
      /the limit of sms is reached: notifications are pending until 2026-03-23 09:05/,
    );
    assert.equal(service.log.split("the limit of sms").length, 2, "logged once");
  }
  await using service = await startFakeService({ ...options, startMs: START + 20 * 60_000 });
  service.conditions.set("shop.example.org", "critical");
  await service.clock.advance(30 * 60_000);
  assert.deepEqual(textsOf(service, "sms.example.org"), []);
  await service.clock.advance(HOUR_MS);
  const [digest = "", ...others] = textsOf(service, "sms.example.org");
  assert.match(digest, /^\["CRITICAL 23 notifications: 23 CRITICAL: shop-\d+, .*, and \d+ more"\]$/i);
  assert.deepEqual(others, []);
  const items = service.messages.filter(({ receiver }) => receiver === "chat.example.org")
    .flatMap(({ text }) =>
      (JSON.parse(text) as { readonly notifications: readonly unknown[] }).notifications
    );
  assert.ok(items.length > 0 && items.length < CHECK_COUNT);
  await store.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("check --once obeys the limit of a channel at each call, and exits as if all were delivered", () =>
  withHarness(async (harness) => {
    const { directory, run, writeScript, writeConfig } = harness;
    writeScript("send_sms", 'printf "%s\\n" "$MONITOR_SUMMARY" >>sent');
    const check = (name: string) => ({
      kind: "file_timestamp",
      parameters: { path: `./${name}`, condition_on_missing: "critical" },
    });
    const names = ["a", "b", "c", "d", "e"];
    writeConfig(Object.fromEntries(names.map((name) => [name, check(name)])), {
      state: "kept.sqlite",
      channels: { sms: { kind: "command", parameters: { path: "./send_sms" }, at_most: "2 per day" } },
      defaults: { threshold: 1, notifications: ["sms"] },
    });
    const sent = (): number => Deno.readTextFileSync(`${directory}/sent`).trim().split("\n").length;
    const first = await run(["check", "--once"]);
    assert.equal(first.code, 2);
    assert.match(first.stderr, /the limit of sms is reached: notifications are pending until /);
    assert.equal(sent(), 2);
    for (const name of names) Deno.writeTextFileSync(`${directory}/${name}`, "");
    for (let call = 0; call < 2; call++) {
      const { code, stderr } = await run(["check", "--once"]);
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
      assert.equal(sent(), 2);
    }
    const { stdout } = await run(["status"]);
    assert.match(stdout, /pending: ok of "c" to sms, .*, tried 0 times, limit reached for \d+ h/);
    assert.match(stdout, /5 notifications are pending/);
    const json = JSON.parse((await run(["status", "--format", "json"])).stdout);
    const times = json.notifications.map(({ limited_until }: { readonly limited_until: string }) =>
      Date.parse(limited_until)
    );
    assert.equal(times.length, 5);
    for (const time of times) assert.ok(time > Date.now() + 23 * HOUR_MS && time < Date.now() + 25 * HOUR_MS);
  }));

Deno.test({
  ...POSTGRES,
  name: "members obey the limit of a channel together, also if the one that sent was killed",
  fn: () =>
    withInstallation(
      async ({ start, run, turn, idle, hook, names, writeConfig, isQueueEmpty, describe }) => {
        await using sms = startHook();
        const write = (limit: Readonly<Record<string, unknown>>): void =>
          writeConfig({ channels: { sms: { ...sms.channel, ...limit } } }, [hook.channel, "sms"]);
        write({ at_most: "2 per day" });
        const [first, second] = [start("a"), start("b")];
        await turn(500, { isStored: false });
        await until("a message", () => sms.posts.length > 0, describe);
        await idle();
        first.signal("SIGKILL");
        await turn(200, { isStored: false });
        const third = start("c");
        await idle();
        second.signal("SIGKILL");
        await turn(500, { isStored: false });
        assert.equal(sms.posts.length, 2);
        third.signal("SIGTERM");
        assert.equal((await third.end()).code, 0);
        write({});
        await run("check", "--once");
        assert.equal(await isQueueEmpty(), true, describe());
        const items = sms.posts.flatMap(({ notifications }) => notifications);
        const last = names.map((name) => items.findLast(({ check }) => check === name)?.event);
        assert.deepEqual(last, names.map(() => "problem"), "nothing is lost");
      },
      postgres(),
    ),
});
