import assert from "node:assert/strict";
import { load } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

/** The secrets of a config with some parts, and a value at a placeholder. */
async function secretsOf(parts: object, value: string): Promise<string> {
  const options = { environment: { X: value, Y: "other", PATH: "/bin" } };
  return (await load({ defaults: {}, checks: {}, ...parts }, options)).secrets.join(" | ");
}

const mail = (login: object) => {
  const access = { host: "h", port: 25, username: "", password: "", ...login };
  const parameters = { access, sender: "a@b.example", receivers: ["a@b.example"] };
  return { defaults: { notifications: [{ kind: "email", parameters }] } };
};
const check = (kind: string, parameters: object) => ({ checks: { web: { kind, parameters } } });
const request = (target: string, headers: object = {}) =>
  check("http_request", { request: { target, headers } });
const script = (environment: object) => check("script", { path: "/bin/true", environment });
const LOGIN = "Basic bWU6c3dvcmRmaXNo";

Deno.test("findSecrets() returns the values of keys that can contain a secret", async (t) => {
  const rows: Readonly<Record<string, readonly [parts: object, value: string, secrets: string]>> = {
    "a password": [mail({ password: "${env:X}" }), "swordfish", "swordfish"],
    "a variable": [script({ TOKEN: "Bearer ${env:X}" }), "swordfish", "swordfish | Bearer swordfish"],
    "several placeholders": [
      mail({ password: "${env:X}${env:Y}", username: "${env:X}" }),
      "first",
      "first | other | firstother | \0first\0firstother",
    ],
    "an escape": [mail({ password: "$${env:X}" }), "swordfish", "${env:X}"],
    "a literal password": [
      mail({ username: "me", password: "swordfish" }),
      "",
      "swordfish | \0me\0swordfish",
    ],
    "a header with a login": [
      request("http://h/", { Authorization: LOGIN }),
      "",
      `${LOGIN} | bWU6c3dvcmRmaXNo | me:swordfish | swordfish`,
    ],
    "a header that is none": [request("http://h/", { Accept: "swordfish" }), "", ""],
    "a literal URL of a chat": [
      {
        channels: { chat: { kind: "slack", parameters: { url: "https://h.example/services/T0/swordfish" } } },
      },
      "",
      "https://h.example/services/T0/swordfish | services/T0/swordfish",
    ],
    "a literal variable": [script({ DB_PASSWORD: "swordfish", LANG: "de_CH" }), "", "swordfish"],
    "a variable with a path": [script({ RESTIC_PASSWORD_FILE: "/etc/restic" }), "", ""],
    "the host of an SMTP server": [mail({ host: "${env:X}" }), "mail.example.org", ""],
    "a path": [check("file_timestamp", { path: "${env:X}" }), "/var/backups", ""],
    "a kind": [check("${env:X}", {}), "test", ""],
  };
  await testRows(t, rows, async ([parts, value, secrets]) => {
    assert.equal(await secretsOf(parts, value), secrets);
  });
});

Deno.test("findSecrets() returns the parts of a URL other than its host", async (t) => {
  const h = "h.example";
  const rows: Readonly<Record<string, readonly [target: string, value: string, secrets: string]>> = {
    "a host": ["http://${env:X}/", "www.example.org", ""],
    "a host behind a password": ["http://:@${env:X}/?query", "www.example.org", ""],
    "a path": [`https://${h}/\${env:X}`, "T0/B1/swordfish", "T0/B1/swordfish"],
    "a login": [`https://user:\${env:X}@${h}/`, "swordfish", "swordfish | user:swordfish"],
    "a login name": [`https://\${env:X}:a%20pass@${h}/`, "operator", "operator | a pass | operator:a pass"],
    "a whole URL": ["${env:X}", "https://H.example/T0/x-y-z", "https://H.example/T0/x-y-z | T0/x-y-z"],
    "host and query": ["https://${env:X}", `${h}?token=abcd`, `${h}?token=abcd | token=abcd | abcd`],
    "login and host": ["https://${env:X}/", `user:abcd@${h}`, `user:abcd@${h} | abcd | user:abcd`],
    "a literal value": [`https://user:fish@${h}/?page=2&token=a%2Fbc#x`, "", "fish | user:fish | a/bc"],
    "a token as login": [`https://swordfish@${h}/`, "", "swordfish | swordfish:"],
  };
  await testRows(t, rows, async ([target, value, secrets]) => {
    assert.equal(await secretsOf(request(target), value), secrets);
  });
});
