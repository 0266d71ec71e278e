import assert from "node:assert/strict";
import { commandKind } from "../../src/channels/command.ts";
import { describeItem } from "../../src/channels/describe_item.ts";
import { TEMPLATE_FIELDS } from "../../src/shared/template.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import { until } from "../life/in_time.ts";
import {
  deliverOver,
  type DeliveryFindings,
  type DeliverySettings,
  failure,
  makeItem,
  makeMessage,
  makeNotification,
} from "../support/channel_delivery.ts";
import { fixture, livingProcesses, newMark, untilGone } from "../support/processes.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { tempDirectory } from "../../testing/builders.ts";

function run(
  path: string,
  parameters: Partial<ChannelOf<"command">["parameters"]> = {},
  settings: DeliverySettings = {},
): Promise<DeliveryFindings> {
  return deliverOver(commandKind, {
    kind: "command",
    key: "k",
    parameters: { path, arguments: [], environment: {}, timeoutMs: 120_000, ...parameters },
  }, settings);
}

/** Returns the environment and the input of a command that stores both. */
async function kept(
  parameters: Partial<ChannelOf<"command">["parameters"]> = {},
  settings: DeliverySettings = {},
) {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const environment = { ...parameters.environment, KEPT: directory };
  const { delivery, steps } = await run(fixture("keep_report.sh"), { ...parameters, environment }, settings);
  assert.deepEqual(delivery, { delivered: true, note: null });
  assert.deepEqual(new Set(steps), new Set(["exited with code 0"]));
  const variables = await Deno.readTextFile(`${directory}/environment`);
  const pairs = variables.split("\0").filter((pair) => !/^(?:$|KEPT=|PWD=|SHLVL=|_=|OLDPWD=)/.test(pair));
  return {
    environment: Object.fromEntries(pairs.map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=")];
    })),
    arguments: await Deno.readTextFile(`${directory}/arguments`),
    input: await Deno.readTextFile(`${directory}/input`),
  };
}

Deno.test("commandKind passes the notification in the environment, and nothing else of the parent's", async () => {
  const { environment } = await kept({ environment: { OWN: "a=b", MONITOR_CHECK: "forged" } }, {
    environment: { PATH: "/usr/bin:/bin", HOME: "/home/x", PLANTED: "secret" },
  });
  const { MONITOR_SUMMARY, MONITOR_MESSAGE_ID, MONITOR_ID, MONITOR_DECIDED_AT, MONITOR_TITLE } = environment;
  assert.deepEqual([MONITOR_MESSAGE_ID, MONITOR_ID, MONITOR_TITLE], ["message-1", "report-1", "Website"]);
  assert.equal(MONITOR_DECIDED_AT, "2026-01-31T10:00:00.000Z");
  assert.equal(MONITOR_SUMMARY, describeItem(makeItem()));
  const others = TEMPLATE_FIELDS.filter((field) => field !== "action" && field !== "severity");
  const expected = ["PATH", "HOME", "OWN", "MONITOR_MESSAGE_ID"]
    .concat(others.map((field) => `MONITOR_${field.toUpperCase()}`));
  assert.deepEqual(Object.keys(environment).toSorted(), expected.toSorted());
  assert.deepEqual([environment["OWN"], environment["MONITOR_CHECK"]], ["a=b", "web"]);
});

Deno.test("commandKind passes the notification as one line of JSON on standard input", async () => {
  const missed = makeNotification({ id: "report-0" });
  const item = makeItem({ event: "recovery", condition: "ok", output: "a\nb", detail: '"' }, missed);
  const { input } = await kept({}, { message: makeMessage([item], { isTest: true }) });
  assert.match(input, /^\{.*\}\n$/);
  const { output, detail, test, missed_problem } = JSON.parse(input);
  assert.deepEqual([output, detail, test, missed_problem.id], ["a\nb", '"', true, "report-0"]);
});

Deno.test("commandKind passes arguments as they are", async () => {
  const args = ["a b", "$HOME `id` ;", "*", ""];
  assert.equal((await kept({ arguments: args })).arguments, `${args.join("\n")}\n`);
});

Deno.test("commandKind escapes hostile texts", async () => {
  const output = 'a\0b\nc"$(id)\ud800=\u001b';
  const { environment, input } = await kept({}, {
    message: makeMessage([makeItem({ output, title: null })]),
  });
  assert.equal(environment["MONITOR_OUTPUT"], 'a\ufffdb\nc"$(id)\ufffd=\u001b');
  assert.equal(environment["MONITOR_TITLE"], "");
  assert.equal(JSON.parse(input).output, 'a\0b\nc"$(id)\ufffd=\u001b');
});

Deno.test("commandKind bounds variables more than the input", async () => {
  const text = "😀".repeat(1024 * 1024);
  const message = makeMessage([makeItem({ output: text, detail: text, title: text })]);
  const { environment, input } = await kept({}, { message });
  assert.ok((environment["MONITOR_DETAIL"]?.length ?? Infinity) <= 8192);
  assert.ok(environment["MONITOR_DETAIL"]?.endsWith("😀…"));
  assert.ok(JSON.parse(input).detail.length > 65_000);
});

Deno.test("commandKind does not wait for a command that does not read its input", async () => {
  const message = makeMessage([makeItem({ detail: "\u0001".repeat(64 * 1024) })]);
  const { delivery } = await run("/bin/true", {}, { message });
  assert.deepEqual(delivery, { delivered: true, note: null });
  const { delivery: closed } = await run("/bin/sh", { arguments: ["-c", "exec <&-; exit 3"] }, { message });
  assert.deepEqual(closed, failure('"/bin/sh" exited with code 3', { retryable: true }));
});

Deno.test("commandKind retries unless the exit code is permanent", async (t) => {
  const retried = { 1: true, 64: false, 69: true, 75: true, 77: false, 78: false, 127: false, 255: true };
  await testRows(t, retried, async (retryable, code) => {
    const { delivery } = await run("/bin/sh", { arguments: ["-c", `exit ${code}`] });
    assert.deepEqual(delivery, failure(`"/bin/sh" exited with code ${code}`, { retryable }));
  });
});

Deno.test("commandKind quotes the first words of a command that failed", async (t) => {
  const rows: Rows<[script: string, words: string]> = {
    "stderr before stdout": ["echo out; echo 'no route'; echo 'no pager' >&2; exit 1", "no pager"],
    "stdout when stderr is empty": ["echo; echo 'no route'; echo more; exit 1", "no route"],
    "control characters out of them": ["printf 'a\\033[31mb\\000c' >&2; exit 1", "a [31mb c"],
  };
  await testRows(t, rows, async ([script, words]) => {
    const { delivery } = await run("/bin/sh", { arguments: ["-c", script] });
    assert.deepEqual(delivery, failure(`"/bin/sh" exited with code 1: ${words}`, { retryable: true }));
  });
});

Deno.test("commandKind terminates a command after its timeout, with all its children", async () => {
  const path = fixture("ignore_sigterm.sh");
  // Found by the mark, which a notification's own variable does not cover.
  const mark = newMark();
  const message = makeMessage([makeItem({ check: mark })]);
  const { delivery } = await run(path, { timeoutMs: 300 }, { message });
  await untilGone(mark);
  assert.ok(!delivery.delivered && delivery.retryable && delivery.mayHaveArrived);
  assert.ok(delivery.reason.startsWith(`"${path}" timed out after 0.3 s`), delivery.reason);
});

Deno.test("commandKind names the signal that terminated a command", async () => {
  const { delivery } = await run("/bin/sh", { arguments: ["-c", "kill -SEGV $$"] });
  assert.deepEqual(
    delivery,
    failure('"/bin/sh" was terminated by SIGSEGV', { retryable: true, mayHaveArrived: true }),
  );
});

Deno.test("commandKind rejects permanently if the command cannot be started", async () => {
  const missing = fixture("missing.sh");
  assert.deepEqual((await run(missing)).delivery, failure(`cannot start "${missing}": file does not exist`));
  const path = fixture("not_executable.sh");
  assert.deepEqual((await run(path)).delivery, failure(`cannot start "${path}": file is not executable`));
});

Deno.test("commandKind retries if a resource of the machine is exhausted", async () => {
  const start = () =>
    Promise.resolve({ ended: "not_started", reason: "too many", isShortage: true } as const);
  const { delivery } = await run("/bin/true", {}, { system: { processes: { run: start } } });
  assert.deepEqual(delivery, failure('cannot start "/bin/true": too many', { retryable: true }));
});

Deno.test("commandKind retries if the command is being written", async () => {
  await using temporary = await tempDirectory();
  const path = `${temporary.path}/true`;
  await Deno.copyFile("/bin/true", path);
  using _writer = await Deno.open(path, { append: true });
  const { delivery } = await run(path);
  assert.deepEqual(delivery, failure(`cannot start "${path}": Text file busy`, { retryable: true }));
});

Deno.test("commandKind terminates the command and throws its signal's reason when it aborts", async () => {
  const mark = newMark();
  const abort = new AbortController();
  const message = makeMessage([makeItem({ check: mark })]);
  const running = run(fixture("forever.sh"), {}, { message, signal: abort.signal });
  await until("the process", () => livingProcesses(mark).length > 0);
  abort.abort(new Error("time is up"));
  await assert.rejects(running, /^Error: time is up$/);
  await untilGone(mark);
});

Deno.test("commandKind runs the command once for each item, and stops at the first that fails", async () => {
  const message = makeMessage(
    ["web", "db", "never"].map((check) => makeItem({ check, id: check.charAt(1) })),
  );
  const { delivery, steps } = await run("/bin/sh", {
    arguments: ["-c", 'if [ "$MONITOR_CHECK" = db ]; then echo "$MONITOR_MESSAGE_ID"; exit 1; fi'],
  }, { message });
  assert.deepEqual(delivery, failure('"/bin/sh" exited with code 1: b', { retryable: true }));
  assert.deepEqual(steps, ["exited with code 0"]);
});
