import assert from "node:assert/strict";
import { load } from "../../testing/config_system.ts";

const CONSOLE = { kind: "console", parameters: {} };
const HOOK = { kind: "webhook", parameters: { target: "https://hooks.example.org/x" } };
const check = (...notifications: unknown[]) => ({ kind: "test", notifications, parameters: {} });

Deno.test("loadConfig() puts named channels in the place of their names", async () => {
  const channels = { chat: HOOK, "": CONSOLE, "__proto__": CONSOLE, "a b": CONSOLE, "\ud800": CONSOLE };
  const checks = {
    none: check(),
    inherited: { kind: "test", parameters: {} },
    mixed: check(CONSOLE, "chat", HOOK),
    odd: check("", "__proto__", "a b", "\ud800"),
  };
  const text = JSON.stringify({ defaults: { notifications: ["chat"] }, channels, checks });
  const loaded = await load(text.replace('"":', '"__proto__":{"kind":"console","parameters":{}},"":'));
  assert.deepEqual(
    loaded.checks.map(({ notifications }) => notifications.map(({ name, kind }) => name ?? kind)),
    [[], ["chat"], ["console", "chat", "webhook"], ["", "__proto__", "a b", "\ud800"]],
  );
});

Deno.test("loadConfig() resolves a named channel's parameters and the key of its name", async () => {
  const channelOf = async (name: string, channel: object) => {
    const { checks } = await load({
      defaults: {},
      channels: { [name]: channel },
      checks: { web: check(name) },
    });
    return JSON.parse(JSON.stringify(checks[0]?.notifications[0]));
  };
  assert.deepEqual(await channelOf("chat", HOOK), {
    name: "chat",
    key: '"chat"',
    kind: "webhook",
    parameters: { ...HOOK.parameters, method: "POST", headers: {}, timeoutMs: 10_000 },
  });
  const elsewhere = { ...HOOK, parameters: { target: "https://example.org/" } };
  assert.equal((await channelOf("chat", elsewhere)).key, '"chat"');
  assert.equal((await channelOf("pager", HOOK)).key, '"pager"');
});

Deno.test("loadConfig() finds channels in all files, each relative to its own file", async () => {
  const touch = { kind: "file_touch", parameters: { path: "notified" } };
  const config = {
    include: ["conf.d/a.jsonc"],
    defaults: { notifications: ["theirs"] },
    channels: { ours: touch },
    checks: { main: { kind: "test", parameters: {} } },
  };
  const included = { channels: { theirs: touch }, checks: { a: check("ours", "theirs") } };
  const { checks, channels } = await load(config, {
    files: { "/etc/monitor/conf.d/a.jsonc": JSON.stringify(included) },
  });
  assert.deepEqual(
    checks.map(({ name, notifications }) => [name, notifications.map(({ parameters }) => parameters)]),
    [
      ["main", [{ path: "/etc/monitor/conf.d/notified" }]],
      ["a", [{ path: "/etc/monitor/notified" }, { path: "/etc/monitor/conf.d/notified" }]],
    ],
  );
  assert.deepEqual([...channels.keys()], ["ours", "theirs"]);
});

Deno.test("loadConfig() marks a named channel that lacks a secret, not its checks", async () => {
  const pager = { ...HOOK, parameters: { ...HOOK.parameters, headers: { Authorization: "${env:UNSET}" } } };
  const { checks } = await load({
    defaults: {},
    channels: { pager, chat: HOOK },
    checks: { web: check("pager", "chat"), mail: check("pager") },
  });
  const lack = 'the environment variable "UNSET" is not set';
  assert.deepEqual(
    checks.map((check) => [check.lack, check.notifications.map(({ lack }) => lack)]),
    [[undefined, [lack, undefined]], [undefined, [lack]]],
  );
});

Deno.test("loadConfig() sends the summary to a named channel whatever it filters", async () => {
  const { summary } = await load({
    defaults: {},
    channels: { chat: { ...HOOK, conditions: ["critical"], events: ["problem"] } },
    checks: { web: check("chat") },
    summary: { cron: "0 8 * * mon", notifications: ["chat"] },
  });
  const [channel] = summary?.notifications ?? [];
  assert.deepEqual([channel?.name, channel?.conditions, channel?.events], ["chat", undefined, undefined]);
});
