import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { desktopNotificationKind } from "../../src/channels/desktop_notification.ts";
import type { Files } from "../../src/domain/system.ts";
import type { ProcessCommand, ProcessEnd } from "../../src/domain/processes.ts";
import { createFiles } from "../../src/system/files.ts";
import {
  deliverOver,
  type DeliveryFindings,
  type DeliverySettings,
  failure,
  makeItem,
  makeMessage,
} from "../support/channel_delivery.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { requiresSessionBus, startSessionBus } from "../support/notification_service.ts";
import { tempDirectory } from "../../testing/builders.ts";

const PATH = "/usr/bin:/bin";
const NONE = { text: "", truncated: false };

function show(settings: DeliverySettings = {}, icon?: string): Promise<DeliveryFindings> {
  const parameters = icon === undefined ? {} : { icon };
  return deliverOver(
    desktopNotificationKind,
    { kind: "desktop_notification", key: "k", parameters },
    settings,
  );
}

Deno.test({
  ...requiresSessionBus(),
  name: "desktopNotificationKind shows a notification on a real desktop bus",
  fn: async (t) => {
    await using bus = await startSessionBus("shows");
    const environment = { PATH, DBUS_SESSION_BUS_ADDRESS: bus.address };
    await t.step("with title, text, icon and urgency", async () => {
      const { delivery, steps } = await show({ environment }, "dialog-warning");
      assert.deepEqual(delivery, { delivered: true, note: null });
      assert.deepEqual(steps, ["shown"]);
      assert.deepEqual(await bus.next(), {
        application: "monitor",
        icon: "dialog-warning",
        title: "Website is critical: status is 500, expected 200",
        body: BODY,
        urgency: 2,
      });
    });
    await t.step("of a test with a recovery that is not ok", async () => {
      const ended = makeItem({ event: "recovery", condition: "warning", previous: "critical", title: null });
      await show({ environment, message: makeMessage([ended], { isTest: true }) });
      const { title, icon, urgency } = await bus.next();
      assert.deepEqual([title, icon, urgency], ["TEST web is no longer critical after 2 min", "", 1]);
    });
    await t.step("with hostile texts", async () => {
      const text = "--help <b>&amp;</b> C:\\new\\table \\ \u0000\u001b[31m\nGrüße 😀\ud800\\";
      await show({ environment, message: makeMessage([makeItem({ title: text, output: text })]) });
      const shown = await bus.next();
      const plain = "--help <b>&amp;</b> C:\\new\\table \\ Grüße 😀 \\";
      assert.equal(shown.title.replace("\ufffd", " "), `${plain} is critical: ${plain}`);
      const escaped = plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      assert.ok(shown.body.startsWith(`CRITICAL for 2 min: ${escaped} (was ok`), shown.body);
    });
    await t.step("shortened", async () => {
      const long = "😀".repeat(500_000);
      await show({ environment, message: makeMessage([makeItem({ title: long, output: long })]) });
      const { title, body } = await bus.next();
      assert.ok(title.length <= 700 && body.length <= 700);
    });
  },
});

Deno.test({
  ...requiresSessionBus(),
  name: "desktopNotificationKind retries while no service is on the bus",
  fn: async () => {
    await using bus = await startSessionBus("none");
    const { delivery, steps } = await show({ environment: { PATH, DBUS_SESSION_BUS_ADDRESS: bus.address } });
    assert.ok(!delivery.delivered && delivery.retryable && !delivery.mayHaveArrived);
    assert.match(
      delivery.reason,
      /^the desktop rejected the notification: .*org\.freedesktop\.Notifications was not provided/,
    );
    assert.deepEqual(steps, []);
  },
});

Deno.test({
  ...requiresSessionBus(),
  name: "desktopNotificationKind aborts a service that does not respond with its signal",
  fn: async () => {
    await using bus = await startSessionBus("mute");
    const abort = new AbortController();
    const environment = { PATH, DBUS_SESSION_BUS_ADDRESS: bus.address };
    const showing = show({ environment, signal: abort.signal });
    await bus.next();
    abort.abort(new Error("time is up"));
    await assert.rejects(showing, /^Error: time is up$/);
  },
});

Deno.test("desktopNotificationKind rejects permanently if there is no notifier", async () => {
  await using directory = await tempDirectory({ "notify-send": "" });
  const { delivery } = await show({ environment: { PATH: directory.path } });
  assert.deepEqual(delivery, failure('"notify-send" is not in PATH; install libnotify-bin or libnotify'));
});

/** Files with an outcome of every look-up. */
const filesWith = (stat: Files["stat"]): Files => ({ ...createFiles(createRealClock()), stat });
const PROGRAM = filesWith(() =>
  Promise.resolve({ kind: "file", sizeBytes: 1, modifiedAtMs: 0, mode: 0o755, ownerId: 0 })
);
const MISSING = filesWith(() => Promise.reject(new Deno.errors.NotFound()));
const DENIED = filesWith(() => Promise.reject(new Deno.errors.NotCapable("Requires read access")));

Deno.test("desktopNotificationKind.findLack() names a missing notifier", async () => {
  const lackIn = (files: Files, platform: "linux" | "darwin" = "linux") =>
    desktopNotificationKind.findLack?.({
      ...createMemorySystem({ environment: { PATH: "/bin" } }),
      platform,
      files,
    });
  assert.equal(await lackIn(MISSING), '"notify-send" is not in PATH; install libnotify-bin or libnotify');
  assert.equal(await lackIn(PROGRAM), null);
  assert.equal(await lackIn(DENIED), null, "the permission is missing");
  assert.equal(await lackIn(MISSING, "darwin"), null);
});

Deno.test("desktopNotificationKind runs no notifier from the working directory, and names a missing permission", async () => {
  const { delivery } = await show({ environment: { PATH: ":.:bin" }, system: { files: PROGRAM } });
  assert.deepEqual(delivery, failure('"notify-send" is not in PATH; install libnotify-bin or libnotify'));
  const { delivery: denied } = await show({ system: { files: DENIED } });
  assert.deepEqual(denied, failure('cannot look up "notify-send": grant --allow-read=/usr/bin/notify-send'));
});

Deno.test("desktopNotificationKind returns a timeout if the desktop does not respond in time", async () => {
  const run = () =>
    Promise.resolve({ ended: "timed_out", stdout: NONE, stderr: NONE, survives: false } as const);
  const { delivery } = await show({ system: { platform: "darwin", processes: { run } } });
  assert.ok(!delivery.delivered && delivery.retryable && delivery.mayHaveArrived);
  assert.equal(delivery.reason, "no response from the desktop within 10 s");
});

/** Returns the command that would be started on another system. */
async function commandOn(platform: "darwin" | "windows", title: string): Promise<ProcessCommand> {
  const commands: ProcessCommand[] = [];
  const run = (command: ProcessCommand): Promise<ProcessEnd> => {
    commands.push(command);
    return Promise.resolve({ ended: "exited", code: 0, stdout: NONE, stderr: NONE, leftovers: false });
  };
  await show({ message: makeMessage([makeItem({ title })]), system: { platform, processes: { run } } });
  const [command = assert.fail()] = commands;
  return command;
}

const BODY =
  "CRITICAL for 2 min: status is 500, expected 200 (was ok, 3 results in a row since 2026-01-31 09:58:00 UTC)";

Deno.test("desktopNotificationKind passes texts to osascript as arguments only", async () => {
  const command = await commandOn("darwin", '" & beep');
  assert.equal(command.path, "/usr/bin/osascript");
  assert.deepEqual(command.arguments.slice(-2), ['" & beep is critical: status is 500, expected 200', BODY]);
});

Deno.test("desktopNotificationKind puts no text into PowerShell's script as it is", async () => {
  // PowerShell accepts each of these as a quotation mark.
  const title = "'; beep #\u2018\u2019\u201a\u201b$(beep)";
  const command = await commandOn("windows", title);
  assert.match(command.path, /powershell\.exe$/);
  const script = decodeUtf16(command.arguments.at(-1) ?? "");
  assert.doesNotMatch(script, /beep|[\u2018-\u201b]/);
  const texts = [...script.matchAll(/FromBase64String\('([A-Za-z0-9+/=]*)'\)/g)].map(([, text = ""]) =>
    decodeUtf16(text)
  );
  assert.deepEqual(texts, [`${title} is critical: status is 500, expected 200`, BODY]);
});

function decodeUtf16(base64: string): string {
  return new TextDecoder("utf-16le").decode(Uint8Array.fromBase64(base64));
}
