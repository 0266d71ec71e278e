/**
 * Loads a config of at least so many bytes, with one warning in it, and prints the outcome: a separate program, so
 * that a test can run it with little memory.
 */
import { loadConfig } from "../../src/config/load.ts";
import type { System } from "../../src/domain/system.ts";

const KINDS: readonly ((index: number) => string)[] = [
  (index) =>
    `"page ${index}": { "kind": "http_request", "schedule": { "regular_interval": "5 minutes" },
    "parameters": { "request": { "target": "https://host-${index}.example.org/" }, "response": { "body_part": "ok" } } },`,
  (index) =>
    `"script ${index}": { "kind": "script", "parameters": { "path": "/usr/bin/check_${index}",
    "arguments": ["-w", "10%", "-c", "5%"], "environment": { "TOKEN": "\${env:TOKEN}" } } },`,
  (index) =>
    `"file ${index}": { "kind": "file_timestamp", "parameters": { "path": "backup-${index}.tar" } },`,
];

const bytes = makeConfig(Number(Deno.args[0]));
const facts = { kind: "file", sizeBytes: bytes.length, modifiedAtMs: 0, mode: 0o700, ownerId: 0 } as const;
const files = { stat: () => Promise.resolve(facts), read: () => Promise.resolve(bytes) };
const environment = (name: string) => name === "TOKEN" ? "swordfish" : undefined;
const system = {
  files,
  environment,
  mayReadEnvironment: () => true,
  workingDirectory: "/",
  timeZone: () => "UTC",
  platform: "linux",
  userId: 0,
};

const { checks, warnings, place } = await loadConfig(
  { path: "/monitor.json", named: true },
  // Loading needs no more of the machine than this.
  system as unknown as System,
);
const [warning] = warnings.map(place);
console.log(JSON.stringify({
  bytes: bytes.length,
  checks: checks.length,
  warning: warning && `${warning.line}:${warning.column}`,
}));

function makeConfig(sizeBytes: number): Uint8Array {
  const lines = [
    '{ "defaults": {}, "checks": {',
    '"first": { "kind": "test", "notifications": [], "parameters": {} },',
  ];
  let length = 0;
  for (let index = 0; length < sizeBytes; index++) {
    const line = KINDS[index % KINDS.length]?.(index) ?? "";
    lines.push(line);
    length += line.length;
  }
  lines.push('"last": { "kind": "test", "parameters": {} } } }');
  return new TextEncoder().encode(lines.join("\n"));
}
