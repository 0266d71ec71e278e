import assert from "node:assert/strict";
import {
  joinPermissions,
  missingPermissions,
  requiredPermissionsOf,
} from "../../src/permissions/required_permissions.ts";
import { load } from "../../testing/config_system.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { type Rows, testRows } from "../support/rows.ts";

/** Returns the permissions of a config by their class, `read=/a,/b env=C`. */
async function permissionsOf(config: object, { names = [""], notifies = true } = {}): Promise<string> {
  const { checks, heartbeat, channels: named } = await load({ defaults: {}, ...config });
  const required = await requiredPermissionsOf({
    checks,
    heartbeat,
    notifies,
    channels: names.flatMap((name) => named.get(name) ?? []),
  }, createMemorySystem({ environment: { PATH: "/opt/bin:/usr/bin" } }));
  const groups = Map.groupBy(required, ({ permission }) => permission);
  return [...groups].map(([name, some]) => `${name}=${some.map(({ value }) => value)}`).join(" ");
}

const KILL = "/usr/bin/kill";
const PASSED = "env=PATH,HOME,LANG,LC_ALL,TZ,TMPDIR";
const TLS = "env=DENO_TLS_CA_STORE";
const http = (target: string) => ({ kind: "http_request", parameters: { request: { target } } });
const tls = { host: "10.0.0.1", port: 443, ca_file: "/srv/authority.pem" };

Deno.test("requiredPermissionsOf() returns the minimal permissions of each check kind", async (t) => {
  const rows: Rows<[check: object, required: string]> = {
    test: [{ parameters: {} }, ""],
    script: [{ parameters: { path: "/srv/a.sh" } }, `run=/srv/a.sh,${KILL} ${PASSED}`],
    file_timestamp: [{ parameters: { path: "/srv/file" } }, "read=/srv/file"],
    file: [{ parameters: { path: "/srv/file", owner: "1000" } }, "read=/srv/file"],
    log: [{ parameters: { path: "/srv/log", pattern: "x" } }, "read=/srv/log,/srv/log.1"],
    "a log of a rotation with a name": [
      { kind: "log", parameters: { path: "/srv/log", pattern: "x", rotated_path: "/srv/old" } },
      "read=/srv/log,/srv/old",
    ],
    "the name of an owner": [
      { kind: "file", parameters: { path: "/srv/file", owner: "root" } },
      "read=/srv/file,/etc/passwd",
    ],
    disk_space: [{ parameters: { path: "/srv" } }, "read=/srv sys=statfs"],
    memory: [{ parameters: {} }, "sys=systemMemoryInfo"],
    ping: [{ parameters: { host: "10.0.0.1", command: "/opt/ping" } }, `run=/opt/ping,${KILL}`],
    load: [{ parameters: {} }, "sys=loadavg"],
    process: [
      { parameters: { executable: "/bin/x", pid_file: "/run/x.pid" } },
      `read=/run/x.pid,/bin/x,/proc run=/usr/bin/ps,${KILL}`,
    ],
    container: [
      { parameters: { name: "web", socket: "/run/docker.sock" } },
      "read=/run/docker.sock write=/run/docker.sock",
    ],
    network_interface: [{ parameters: { name: "eth0" } }, `run=/sbin/ip,${KILL}`],
    systemd_unit: [{ parameters: { unit: "x", command: "/bin/systemctl" } }, `run=/bin/systemctl,${KILL}`],
    "http_request over TLS": [http("https://user:p@example.org"), `net=example.org:443 ${TLS}`],
    "http_request to an address": [http("http://[::1]:8080/"), "net=[::1]:8080"],
    tcp_connect: [
      { parameters: { host: "db.example.org", port: 5432, tls: true } },
      `net=db.example.org:5432 ${TLS}`,
    ],
    redis_command: [{ parameters: { host: "cache.example.org" } }, "net=cache.example.org:6379"],
    mysql_query: [
      { parameters: { host: "db.example.org", username: "ada" } },
      `net=db.example.org:3306 ${TLS}`,
    ],
    postgres_query: [
      { parameters: { host: "db.example.org", username: "ada" } },
      `net=db.example.org:5432 ${TLS}`,
    ],
    domain_expiry: [{ parameters: { domain: "www.example.com" } }, `net=rdap.verisign.com:443 ${TLS}`],
    grpc_health: [{ parameters: { host: "10.0.0.1", port: 50051, tls: true } }, `net=10.0.0.1:50051 ${TLS}`],
    ntp: [{ parameters: { host: "192.0.2.1" } }, "net=192.0.2.1:123,0.0.0.0:0"],
    websocket: [{ parameters: { url: "wss://chat.example.org/a?b" } }, `net=chat.example.org:443 ${TLS}`],
    tls_certificate: [{ parameters: tls }, `read=/srv/authority.pem net=10.0.0.1:443 ${TLS}`],
  };
  await testRows(t, rows, async ([check, required], kind) => {
    assert.equal(await permissionsOf({ checks: { web: { kind, notifications: [], ...check } } }), required);
  });
});

const DESKTOP =
  "DBUS_SESSION_BUS_ADDRESS,DISPLAY,WAYLAND_DISPLAY,XDG_RUNTIME_DIR,SystemRoot,USERPROFILE,LOCALAPPDATA,APPDATA,TEMP";
const email = (host: string, username = "") => ({
  kind: "email",
  parameters: {
    access: { host, port: 587, username, password: username },
    sender: "a@example.org",
    receivers: ["b@example.org"],
  },
});
const hook = (headers: object) => ({ parameters: { target: "https://hook.example/1", headers } });

Deno.test("requiredPermissionsOf() returns the minimal permissions of each channel kind", async (t) => {
  const rows: Rows<[channel: object, required: string]> = {
    console: [{ parameters: {} }, ""],
    file_touch: [{ parameters: { path: "/run/t" } }, "write=/run/t"],
    "email to a name": [email("mx.example.org"), `net=mx.example.org:587 ${TLS}`],
    "email to an address": [email("::1"), "net=[::1]:587"],
    "email with a login": [email("::1", "me"), `net=[::1]:587 ${TLS}`],
    webhook: [hook({}), `net=hook.example:443 ${TLS}`],
    "a webhook that lacks a secret": [{ kind: "webhook", ...hook({ Authorization: "${env:UNSET}" }) }, ""],
    command: [{ parameters: { path: "/srv/tell" } }, `run=/srv/tell,${KILL} ${PASSED}`],
    desktop_notification: [
      { parameters: {} },
      `read=/opt/bin/notify-send,/usr/bin/notify-send run=/usr/bin/notify-send,${KILL} env=PATH,HOME,LANG,${DESKTOP}`,
    ],
  };
  await testRows(t, rows, async ([channel, required], kind) => {
    const notifications = [{ kind, ...channel }];
    const checks = { web: { kind: "test", notifications, parameters: {} } };
    assert.equal(await permissionsOf({ checks }), required);
  });
});

Deno.test("requiredPermissionsOf() includes named channels: those of the checks, and others by name", async () => {
  const touch = (path: string) => ({ kind: "file_touch", parameters: { path } });
  const check = { kind: "test", notifications: ["chat"], parameters: {} };
  const channels = { chat: touch("/chat"), pager: touch("/pager"), other: touch("/other") };
  const config = { channels, checks: { web: check, mail: check } };
  assert.equal(await permissionsOf(config, { names: ["pager"] }), "write=/chat,/pager");
  assert.equal(await permissionsOf(config, { notifies: false }), "");
});

Deno.test("requiredPermissionsOf() includes the heartbeat", async () => {
  const heartbeat = { path: "/run/beat", target: "https://hc.example/x" };
  assert.equal(await permissionsOf({ heartbeat }), `write=/run/beat net=hc.example:443 ${TLS}`);
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
