import assert from "node:assert/strict";
import { load } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

/** Settings of one check of each kind and of a channel, with a placeholder at one place. */
async function secretsOf(parts: { readonly check?: unknown; readonly channel?: unknown }, value: string) {
  const { secrets } = await load({
    defaults: parts.channel === undefined ? {} : { notifications: [parts.channel] },
    checks: parts.check === undefined ? {} : { web: parts.check },
  }, { environment: { X: value, Y: "other", PATH: "/bin" }, files: { "/bin/check_disk": { mode: 0o755 } } });
  return secrets;
}

const mail = (access: object, others: object = {}) => ({
  channel: {
    kind: "email",
    parameters: {
      access: { host: "h", port: 25, username: "", password: "", ...access },
      sender: "a@b.example",
      receivers: ["a@b.example"],
      ...others,
    },
  },
});
const request = (target: string, response: object = {}, headers: object = {}) => ({
  check: { kind: "http_request", parameters: { request: { target, headers }, response } },
});
const script = (parameters: object) => ({
  check: { kind: "script", parameters: { path: "/bin/true", ...parameters } },
});

Deno.test("findSecrets() returns the values of keys that can contain a secret", async (t) => {
  const rows: Readonly<Record<string, readonly [parts: object, value: string, secrets: readonly string[]]>> =
    {
      "a password": [mail({ password: "${env:X}" }), "swordfish", ["swordfish"]],
      "a variable": [script({ environment: { TOKEN: "Bearer ${env:X}" } }), "swordfish", [
        "swordfish",
        "Bearer swordfish",
      ]],
      "several placeholders": [mail({ password: "${env:X}${env:Y}", username: "${env:X}" }), "first", [
        "first",
        "other",
        "firstother",
        "\0first\0firstother",
      ]],
      "an escape": [mail({ password: "$${env:X}" }), "swordfish", ["${env:X}"]],
      "a password that is written out": [mail({ username: "me", password: "swordfish" }), "", [
        "swordfish",
        "\0me\0swordfish",
      ]],
      "a header with a login": [request("http://h/", {}, { Authorization: "Basic bWU6c3dvcmRmaXNo" }), "", [
        "Basic bWU6c3dvcmRmaXNo",
        "bWU6c3dvcmRmaXNo",
        "me:swordfish",
        "swordfish",
      ]],
      "a header that is none": [request("http://h/", {}, { Accept: "swordfish" }), "", []],
      "a variable that is written out": [
        script({ environment: { DB_PASSWORD: "swordfish", LANG: "de_CH" } }),
        "",
        [
          "swordfish",
        ],
      ],
    };
  await testRows(t, rows, async ([parts, value, secrets]) => {
    assert.deepEqual(await secretsOf(parts, value), secrets);
  });
});

Deno.test("findSecrets() skips hosts, ports, paths, commands, and keys with a few accepted words", async (t) => {
  const rows: Readonly<Record<string, readonly [parts: object, value: string]>> = {
    "the host of an SMTP server": [mail({ host: "${env:X}" }), "mail.example.org"],
    "a path": [{ check: { kind: "file_timestamp", parameters: { path: "${env:X}" } } }, "/var/backups"],
    "a kind": [{ check: { kind: "${env:X}", parameters: {} } }, "test"],
    "the host of an address": [request("http://${env:X}/"), "www.example.org"],
    "the host behind a password": [request("http://:@${env:X}/?query"), "www.example.org"],
  };
  await testRows(t, rows, async ([parts, value]) => {
    assert.deepEqual(await secretsOf(parts, value), []);
  });
});

Deno.test("findSecrets() returns the parts of a URL other than its host", async (t) => {
  const rows: Readonly<Record<string, readonly [target: string, value: string, secrets: readonly string[]]>> =
    {
      "a path": ["https://h.example/${env:X}", "T0/B1/swordfish", ["T0/B1/swordfish"]],
      "a login": ["https://user:${env:X}@h.example/", "swordfish", ["swordfish", "user:swordfish"]],
      "a login name": ["https://${env:X}:a%20pass@h.example/", "operator", [
        "operator",
        "a pass",
        "operator:a pass",
      ]],
      "a whole address": ["${env:X}", "https://H.example/T0/swordfish", [
        "https://H.example/T0/swordfish",
        "T0/swordfish",
      ]],
      "host and query": ["https://${env:X}", "h.example?token=swordfish", [
        "h.example?token=swordfish",
        "token=swordfish",
        "swordfish",
      ]],
      "login and host": ["https://${env:X}/", "user:swordfish@h.example", [
        "user:swordfish@h.example",
        "swordfish",
        "user:swordfish",
      ]],
      "a literal value": ["https://user:swordfish@h.example/?page=2&token=a%2Fbc#x", "", [
        "swordfish",
        "user:swordfish",
        "a/bc",
      ]],
      "a token as login": ["https://swordfish@h.example/", "", ["swordfish", "swordfish:"]],
    };
  await testRows(t, rows, async ([target, value, secrets]) => {
    assert.deepEqual(await secretsOf(request(target), value), secrets);
  });
});
