import assert from "node:assert/strict";
import { protocolIn } from "../../src/checks/tcp_connect.ts";
import { hostPortIn, nameFor, portSubject } from "../../src/checks/targets.ts";
import { openSchema } from "../../src/config/schemas.ts";
import { readKinds } from "../../src/cli/open_config.ts";
import type { CheckKind } from "../../src/domain/check.ts";
import type { CheckTarget, TargetWord } from "../../src/domain/check_kind.ts";
import { type Rows, testRows } from "../support/rows.ts";

Deno.test("hostPortIn() finds a host and a port", async (t) => {
  const rows: Readonly<Record<string, readonly [string, number] | null>> = {
    "db.example.org:5432": ["db.example.org", 5432],
    "[::1]:25": ["::1", 25],
    ":8080": ["127.0.0.1", 8080],
    "8080": ["127.0.0.1", 8080],
    "8080:80": ["127.0.0.1", 8080],
    "192.0.2.1:8080:80/tcp": ["192.0.2.1", 8080],
    "0.0.0.0:8080->80/tcp, [::]:8080->80/tcp": ["127.0.0.1", 8080],
    "[::]:8080->80/tcp": ["::1", 8080],
    "8080->80/udp": null,
    "host:0": null,
    "host:65536": null,
    "host": null,
    "https://example.org:80": null,
    "user@host:22": null,
    "/run/x:1": null,
  };
  await testRows(t, rows, (expected, word) => {
    const found = hostPortIn(word);
    assert.deepEqual(found === null ? null : [found.host, found.port], expected);
  });
});

Deno.test("protocolIn() finds a protocol, a host and a port", async (t) => {
  const rows: Readonly<Record<string, ReturnType<typeof protocolIn>>> = {
    "smtp://mail.example.org:587": { host: "mail.example.org", protocol: "smtp", port: 587 },
    "IMAPS://mail.example.org/": { host: "mail.example.org", protocol: "imap", tls: true },
    "ssh://[::1]": { host: "::1", protocol: "ssh" },
    "sshs://x": null,
    "pop3://user@x": null,
    "ftp://x/path": null,
    "http://x": null,
    "smtp:x": null,
  };
  await testRows(t, rows, (expected, word) => assert.deepEqual(protocolIn(word), expected));
});

Deno.test("nameFor() returns a name without special characters of a shell", () => {
  const names = ["https", "-c", "a b/c", "größe", "$(x)", "//"].map(nameFor);
  assert.deepEqual(names, ["https", "c", "a_b_c", "größe", "x", "check"]);
});

Deno.test("portSubject() has one name for this machine", () => {
  const subjects = ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "LOCALHOST"];
  assert.deepEqual([...new Set(subjects.map((host) => portSubject(host, 1)))], ["port localhost:1"]);
  assert.equal(portSubject("Example.org", 1), "port example.org:1");
});

async function readTargets(): Promise<ReadonlyMap<CheckKind, CheckTarget<CheckKind>>> {
  const { reader } = await openSchema("monitor");
  const kinds = reader.at({ checks: { x: {} } }, ["checks", "x", "kind"])?.enum as readonly CheckKind[];
  return new Map([...await readKinds(kinds)].map(([kind, { target }]) => [kind, target]));
}

async function claimantsOf(word: TargetWord): Promise<readonly string[]> {
  const names: string[] = [];
  for (const [kind, target] of await readTargets()) {
    if (target.claims?.(word) === true) names.push(kind);
  }
  return names;
}

Deno.test("at most one kind claims a word", async (t) => {
  const rows: Rows<[TargetWord["pathKind"], readonly string[]]> = {
    "https://example.org/": [null, ["http_request"]],
    "smtp://example.org": [null, ["tcp_connect"]],
    "http://[::1]:80/x?a=b": [null, ["http_request"]],
    "https://": [null, []],
    "db:5432": [null, ["tcp_connect"]],
    "/run/x.sock": ["other", ["tcp_connect"]],
    "/": ["directory", ["disk_space"]],
    "/var/log/syslog": ["file", ["file_timestamp"]],
    "/missing": [null, []],
    "nginx.service": [null, ["systemd_unit"]],
    "getty@tty1.service": [null, ["systemd_unit"]],
    "apt-*.timer": [null, []],
    "example.org": [null, []],
  };
  await testRows(t, rows, async ([pathKind, expected], text) => {
    assert.deepEqual(await claimantsOf({ text, path: text, pathKind }), expected);
  });
});

Deno.test("each kind derives parameters from its target, or supports none", async () => {
  const words: Readonly<Record<CheckKind, string | null>> = {
    test: null,
    script: "./check",
    file_timestamp: "file",
    file: "file",
    log: "app.log",
    http_request: "https://example.org/",
    tcp_connect: "db:1",
    tls_certificate: "example.org",
    disk_space: "/",
    memory: null,
    load: null,
    network_interface: "eth0",
    process: "sshd",
    systemd_unit: "ssh.service",
    container: "web",
    dns_lookup: "example.org",
    domain_expiry: "example.org",
    websocket: "wss://example.org/a",
    grpc_health: "grpc://api:50051",
    ntp: "192.0.2.1",
    mysql_query: "mysql://ada@db.example.org/shop",
    postgres_query: "postgres://ada@db.example.org/shop",
    redis_command: "redis://cache.example.org",
    ping: "192.0.2.1",
    group: "a,b",
    job: "1 day",
    rehearsal: null,
    reported: null,
  };
  const targets = await readTargets();
  assert.deepEqual([...targets.keys()].sort(), Object.keys(words).sort());
  for (const [kind, target] of targets) {
    const text = words[kind];
    assert.equal(target.form === null, text === null, kind);
    const word = { text: text ?? "x", path: `/here/${text}`, pathKind: null };
    assert.equal(target.parametersOf(word) === null, text === null, kind);
    assert.match(nameFor(target.nameOf?.(word) ?? word.text), /^\w[\w.-]*$/, kind);
  }
});
