/** For each check kind: the printed permissions are enough, and without any one of them the output names its flag. */
import assert from "node:assert/strict";
import type { CheckKind } from "../../src/domain/check.ts";
import type { PermissionClass } from "../../src/domain/runtime_permissions.ts";
import {
  groupPermissions,
  permissionFlags,
  requiredPermissionsOf,
} from "../../src/permissions/required_permissions.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { testWith } from "../../testing/tools.ts";
import { withHarness } from "../life/program.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { dnsAddress, dnsReply, startDnsServer } from "../support/dns_server.ts";
import { response, startServer } from "../support/http_servers.ts";
import { startTimeServer, timeReply } from "../support/time_server.ts";
import { flagsFor } from "./harness.ts";

/** The targets that the tests provide for the checks. */
interface Targets {
  readonly web: number;
  readonly secure: number;
  readonly dns: number;
  readonly rdap: number;
  readonly socket: number;
  readonly time: number;
  readonly closing: number;
}

/**
 * Parameters of a check that is not unknown; a job and a rehearsal read only the state, a log needs one, a group only its members, and a
 * `reported` check its agent.
 */
const PARAMETERS: Readonly<
  Record<Exclude<CheckKind, "job" | "group" | "log" | "rehearsal" | "reported">, (targets: Targets) => object>
> = {
  test: () => ({ condition: "ok" }),
  script: () => ({ path: "./script.sh" }),
  file_timestamp: () => ({ path: "own.pid" }),
  file: () => ({ path: "authority.pem", owner: "root", content_pattern: "CERTIFICATE" }),
  // No directory: with that, files in it may be read.
  disk_space: () => ({ path: "own.pid" }),
  memory: () => ({}),
  load: () => ({}),
  process: () => ({ pid_file: "own.pid", executable: "script.sh", count: {} }),
  network_interface: () => ({ name: "eth0", command: "./ip.sh" }),
  systemd_unit: () => ({ unit: "web", command: "./systemctl.sh" }),
  container: ({ rdap }) => ({ name: "web", target: `http://127.0.0.1:${rdap}/` }),
  ping: () => ({ host: "127.0.0.1", count: 1 }),
  dns_lookup: ({ dns }) => ({ name: "a.example", server: `127.0.0.1:${dns}` }),
  websocket: ({ socket }) => ({ url: `ws://127.0.0.1:${socket}/` }),
  grpc_health: ({ web }) => ({ host: "127.0.0.1", port: web }),
  ntp: ({ time }) => ({ host: "127.0.0.1", port: time }),
  domain_expiry: ({ rdap }) => ({ domain: "example.org", server: `http://127.0.0.1:${rdap}/` }),
  postgres_query: ({ closing }) => ({
    host: "localhost",
    port: closing,
    username: "ada",
    tls: true,
    ca_file: "authority.pem",
  }),
  mysql_query: ({ closing }) => ({
    host: "localhost",
    port: closing,
    username: "ada",
    tls: true,
    ca_file: "authority.pem",
  }),
  redis_command: ({ closing }) => ({ host: "localhost", port: closing, tls: true, ca_file: "authority.pem" }),
  http_request: ({ web }) => ({ request: { target: `http://127.0.0.1:${web}/` } }),
  tcp_connect: ({ web }) => ({ host: "localhost", port: web }),
  tls_certificate: ({ secure }) => ({ host: "localhost", port: secure, ca_file: "authority.pem" }),
};

/** Read at the start, if they may be read; no check depends on them. */
const OPTIONAL: ReadonlySet<PermissionClass> = new Set(["env"]);

testWith("ping", "kill")(
  "monitor permissions: each kind runs with the printed flags, and names each missing one",
  (t) =>
    withHarness(async (harness) => {
      const authority = createAuthority();
      await using web = startServer(async (visitor) => {
        await visitor.readHead();
        await visitor.send(response(200, { "Content-Length": "0", "Connection": "close" }));
      });
      await using secure = startServer((visitor) => visitor.untilGone(), {
        certificate: createCertificate({ authority, toDay: 60 }),
      });
      await using rdap = startServer(async (visitor) => {
        await visitor.readHead();
        await visitor.send(response(404));
      });
      await using socket = startServer(async (visitor) => {
        await visitor.readHead();
        await visitor.send(
          "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        );
        await visitor.untilGone();
      });
      await using time = await startTimeServer((request) => [timeReply(request, { wallMs: Date.now() })]);
      await using closing = startServer(() => {});
      await using dns = startDnsServer((query) => [dnsReply(query, [dnsAddress("192.0.2.1")])]);
      const targets = {
        web: web.port,
        secure: secure.port,
        dns: dns.port,
        rdap: rdap.port,
        socket: socket.port,
        time: time.port,
        closing: closing.port,
      };
      harness.writeScript("script.sh", "echo fine");
      harness.writeScript("ip.sh", `echo '[{"flags":["UP","LOWER_UP"],"stats64":{"rx":{},"tx":{}}}]'`);
      harness.writeScript("systemctl.sh", "echo Id=web.service; echo ActiveState=active");
      Deno.writeTextFileSync(`${harness.directory}/own.pid`, "1");
      Deno.writeTextFileSync(`${harness.directory}/authority.pem`, authority.cert);
      harness.writeConfig(Object.fromEntries(
        Object.entries(PARAMETERS).map((
          [kind, parameters],
        ) => [kind, { kind, parameters: parameters(targets), schedule: { regular_interval: "1 day" } }]),
      ));
      const args = ["--state", "none"];
      const printed = await harness.runHere(["permissions", ...args, "--format", "json"]);
      const all = JSON.parse(printed.stdout);
      const run = async (permissions: readonly string[]): Promise<ReadonlyMap<string, string>> => {
        const { stdout, stderr } = await harness.run(["check", "--once", ...args, "--format", "json"], {
          permissions,
        });
        assert.notEqual(stdout, "", stderr);
        const { checks } = JSON.parse(stdout) as {
          checks: readonly { readonly name: string; readonly condition: string; readonly output: string }[];
        };
        return new Map(checks.map(({ name, condition, output }) => [name, `${condition}: ${output}`]));
      };
      await t.step("with all of them", async () => {
        for (const [name, text] of await run(flagsFor(all))) assert.doesNotMatch(text, /^unknown/, name);
      });
      const system = createMemorySystem({ workingDirectory: harness.directory });
      const { checks } = await loadConfig({ path: `${harness.directory}/monitor.json`, named: true }, system);
      const values = await Promise.all(checks.map(async (check) => {
        const config = { checks: [check], heartbeat: null, notifies: false };
        const required = await requiredPermissionsOf(config, system);
        return { name: check.name, required: required.filter(({ permission }) => !OPTIONAL.has(permission)) };
      }));
      const rounds = Math.max(...values.map(({ required }) => required.length));
      for (let round = 0; round < rounds; round++) {
        // Each check loses one value; all of them lose a value that several require.
        const lost = values.flatMap(({ required }) => required[round] ?? []);
        const isLost = (permission: string, value: string): boolean =>
          lost.some((one) => one.permission === permission && one.value === value);
        const groups = groupPermissions([]);
        const kept = Object.fromEntries(
          Object.keys(groups).map((
            name,
          ) => [name, all[name].filter((value: string) => !isLost(name, value))]),
        ) as typeof groups;
        const results = await run(permissionFlags(kept));
        for (const { name, required } of values) {
          const missing = required.filter(({ permission, value }) => isLost(permission, value));
          if (missing.length === 0) continue;
          await t.step(`${name} without its permission ${round + 1}`, () => {
            const text = results.get(name) ?? "";
            assert.match(text, /^unknown/);
            const isNamed = missing.some(({ permission, value }) =>
              new RegExp(`--allow-${permission}=(\\S+,)?${RegExp.escape(value)}`).test(text)
            );
            assert.ok(isNamed, text);
          });
        }
      }
    }),
);
