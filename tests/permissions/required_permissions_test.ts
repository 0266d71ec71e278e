import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import type { RequiredPermissions } from "../../src/domain/runtime_permissions.ts";
import {
  joinPermissions,
  missingPermissions,
  type RequiredPermission,
  requiredPermissionsOf,
} from "../../src/permissions/required_permissions.ts";
import { requestCheck, testCheck } from "../support/checks.ts";
import { checkOf } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { testRows } from "../support/rows.ts";

const ENVIRONMENT = { PATH: "/opt/bin:/usr/bin" };
const PASSED = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

const TOUCH: Channel = { key: "f", kind: "file_touch", parameters: { path: "/run/t" } };
const HOOK: Channel = {
  key: "w",
  kind: "webhook",
  parameters: { target: "https://hook.example/1", method: "POST", headers: {}, timeoutMs: 1 },
};

function byClass(requiredPermissions: readonly RequiredPermission[]): RequiredPermissions {
  const groups = Map.groupBy(requiredPermissions, ({ permission }) => permission);
  return Object.fromEntries(
    [...groups].map(([permission, some]) => [permission, some.map(({ value }) => value)]),
  );
}

async function permissionsOfChecks(...checks: readonly Check[]): Promise<RequiredPermissions> {
  const system = createMemorySystem({ environment: ENVIRONMENT });
  return byClass(await requiredPermissionsOf({ checks, heartbeat: null, notifies: true }, system));
}

function quiet(check: Check): Check {
  return { ...check, notifications: [] };
}

Deno.test("requiredPermissionsOf() returns the minimal permissions of each check kind", async (t) => {
  const connection = { host: "db.example.org", port: 5432, everyAddress: false, tls: true, asWarning: false };
  const certificate = { warningBeforeExpiryMs: 1000, criticalBeforeExpiryMs: 1000 };
  const rows: Readonly<Record<string, readonly [Check, RequiredPermissions]>> = {
    test: [checkOf("test", { condition: "ok", output: "" }), {}],
    script: [
      checkOf("script", { path: "/srv/a.sh", arguments: [], environment: {}, conditionOnTimeout: "unknown" }),
      { run: ["/srv/a.sh", "/usr/bin/kill"], env: PASSED },
    ],
    file_timestamp: [
      checkOf("file_timestamp", {
        path: "/srv/file",
        warningAgeMs: 1000,
        criticalAgeMs: 1000,
        conditionOnMissing: "ok",
        conditionOnImplausible: "ok",
      }),
      { read: ["/srv/file"] },
    ],
    disk_space: [
      checkOf("disk_space", { path: "/srv", free: {}, freeInodes: {} }),
      { read: ["/srv"], sys: ["statfs"] },
    ],
    memory: [checkOf("memory", { available: {}, swapUsed: {} }), { sys: ["systemMemoryInfo"] }],
    load: [checkOf("load", { load1: {}, load5: {}, load15: {} }), { sys: ["loadavg"] }],
    process: [
      checkOf("process", { executable: "/bin/x", pidFile: "/run/x.pid", count: {}, age: {}, memory: {} }),
      { read: ["/run/x.pid", "/bin/x", "/proc"], run: ["/usr/bin/ps", "/usr/bin/kill"] },
    ],
    systemd_unit: [
      checkOf("systemd_unit", {
        unit: "x",
        state: "active",
        asWarning: false,
        restarts: {},
        command: "/bin/systemctl",
      }),
      { run: ["/bin/systemctl", "/usr/bin/kill"] },
    ],
    "http_request over TLS": [
      quiet(requestCheck("https://user:p@example.org")),
      { net: ["example.org:443"], env: ["DENO_TLS_CA_STORE"] },
    ],
    "http_request to an address": [quiet(requestCheck("http://[::1]:8080/")), { net: ["[::1]:8080"] }],
    tcp_connect: [
      checkOf("tcp_connect", connection),
      { net: ["db.example.org:5432"], env: ["DENO_TLS_CA_STORE"] },
    ],
    tls_certificate: [
      checkOf("tls_certificate", {
        host: "10.0.0.1",
        port: 443,
        everyAddress: false,
        caFile: "/srv/authority.pem",
        ...certificate,
      }),
      { net: ["10.0.0.1:443"], read: ["/srv/authority.pem"], env: ["DENO_TLS_CA_STORE"] },
    ],
  };
  await testRows(t, rows, async ([check, required]) => {
    assert.deepStrictEqual(await permissionsOfChecks(check), required);
  });
});

Deno.test("requiredPermissionsOf() returns the minimal permissions of each channel kind", async (t) => {
  const email = (host: string, login = { username: "", password: "" }): Channel => ({
    key: "e",
    kind: "email",
    parameters: {
      access: { host, port: 587, ...login },
      sender: "a@example.org",
      receivers: ["b@example.org"],
      tags: [],
    },
  });
  const rows: Readonly<Record<string, readonly [Channel, RequiredPermissions]>> = {
    console: [{ key: "c", kind: "console", parameters: {} }, {}],
    file_touch: [TOUCH, { write: ["/run/t"] }],
    "email to a name": [
      email("mx.example.org"),
      { net: ["mx.example.org:587"], env: ["DENO_TLS_CA_STORE"] },
    ],
    "email to an address": [email("::1"), { net: ["[::1]:587"] }],
    "email with a login": [
      email("::1", { username: "me", password: "x" }),
      { net: ["[::1]:587"], env: ["DENO_TLS_CA_STORE"] },
    ],
    webhook: [HOOK, { net: ["hook.example:443"], env: ["DENO_TLS_CA_STORE"] }],
    "a webhook that lacks a secret": [{ ...HOOK, lack: "a secret" }, {}],
    command: [
      {
        key: "k",
        kind: "command",
        parameters: { path: "/srv/tell", arguments: [], environment: {}, timeoutMs: 1 },
      },
      { run: ["/srv/tell", "/usr/bin/kill"], env: PASSED },
    ],
  };
  await testRows(t, rows, async ([channel, required]) => {
    assert.deepStrictEqual(
      await permissionsOfChecks({ ...testCheck("ok"), notifications: [channel] }),
      required,
    );
  });
  await t.step("desktop_notification", async () => {
    const channel: Channel = { key: "d", kind: "desktop_notification", parameters: {} };
    const { read, run, env } = await permissionsOfChecks({ ...testCheck("ok"), notifications: [channel] });
    assert.deepStrictEqual(read, ["/opt/bin/notify-send", "/usr/bin/notify-send"]);
    assert.deepStrictEqual(run, ["/usr/bin/notify-send", "/usr/bin/kill"]);
    assert.ok(env?.includes("DBUS_SESSION_BUS_ADDRESS"));
  });
  await t.step("none without a named channel", async () => {
    const checks = [{ ...testCheck("ok"), notifications: [TOUCH] }];
    const requiredPermissions = await requiredPermissionsOf(
      { checks, heartbeat: null, notifies: false },
      createMemorySystem(),
    );
    assert.deepStrictEqual(requiredPermissions, []);
  });
});

Deno.test("requiredPermissionsOf() includes named channels: those of the checks, and others by name", async () => {
  const touching = (name: string): Channel => {
    return { kind: "file_touch", key: `"${name}"`, name, parameters: { path: `/${name}` } };
  };
  const checks = ["web", "mail"].map((name) => ({
    ...testCheck("ok", { name }),
    notifications: [touching("chat")],
  }));
  const requiredPermissions = await requiredPermissionsOf(
    { checks, heartbeat: null, notifies: true, channels: [touching("pager")] },
    createMemorySystem(),
  );
  assert.deepEqual(requiredPermissions, [
    { permission: "write", value: "/chat", neededBy: 'channel "chat"' },
    { permission: "write", value: "/pager", neededBy: 'channel "pager"' },
  ]);
});

Deno.test("requiredPermissionsOf() includes the heartbeat", async () => {
  const heartbeat = { path: "/run/beat", target: "https://hc.example/x", intervalMs: 60_000 };
  const requiredPermissions = await requiredPermissionsOf(
    { checks: [], heartbeat, notifies: true },
    createMemorySystem(),
  );
  assert.deepStrictEqual(byClass(requiredPermissions), {
    write: ["/run/beat"],
    net: ["hc.example:443"],
    env: ["DENO_TLS_CA_STORE"],
  });
});

Deno.test("joinPermissions() lists each permission once, for the first that requires it", () => {
  const parts = [
    { neededBy: "one", requiredPermissions: { net: ["a:1", "b:1"] } },
    { neededBy: "two", requiredPermissions: { net: ["b:1"], read: ["b:1"] } },
  ];
  assert.deepStrictEqual(joinPermissions(parts), [
    { permission: "net", value: "a:1", neededBy: "one" },
    { permission: "net", value: "b:1", neededBy: "one" },
    { permission: "read", value: "b:1", neededBy: "two" },
  ]);
});

Deno.test("missingPermissions() returns a class once that is granted whole", () => {
  const requiredPermissions = joinPermissions([{
    neededBy: "one",
    requiredPermissions: { net: ["a:1", "b:1"], run: ["/x", "/y"] },
  }]);
  const asked: string[] = [];
  const { permissions } = createMemorySystem({
    isGranted: (permission, value) => {
      asked.push(`${permission} ${value ?? "*"}`);
      return permission === "net" ? value === undefined : value === "/x";
    },
  });
  assert.deepStrictEqual(missingPermissions(requiredPermissions, permissions).map(({ value }) => value), [
    "/y",
  ]);
  assert.deepStrictEqual(asked.filter((question) => question.startsWith("net")), ["net *"]);
});

Deno.test("missingPermissions() returns any host unless the whole class is granted", () => {
  const any = joinPermissions([{ neededBy: "one", requiredPermissions: { net: ["*"] } }]);
  const missingWith = (grantsAll: boolean): number =>
    missingPermissions(
      any,
      createMemorySystem({ isGranted: (_class, value) => grantsAll || value !== undefined }).permissions,
    ).length;
  assert.deepEqual([missingWith(false), missingWith(true)], [1, 0]);
});
