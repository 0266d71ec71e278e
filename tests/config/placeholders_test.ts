import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { substitute } from "../../src/config/placeholders.ts";
import { type JsonValue, parseText } from "../../src/config/syntax.ts";
import { type ConfigSystemOptions, createConfigSystem, load } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

interface Options extends ConfigSystemOptions {
  readonly withoutSecrets?: boolean;
}

function substituteIn(config: JsonValue, options: Options = {}): ReturnType<typeof substitute> {
  const system = createConfigSystem(options);
  return substitute(config, {
    environment: system.environment,
    mayReadEnvironment: system.mayReadEnvironment,
    files: system.files,
    directory: "/etc/monitor",
    withoutSecrets: options.withoutSecrets ?? false,
  });
}

/** A config as the parser makes it. */
function parse(value: unknown): JsonValue {
  return parseText(JSON.stringify(value)).value ?? null;
}

Deno.test("substitute() replaces placeholders and nothing else", async (t) => {
  const options = {
    environment: { A: "one", EMPTY: "", _b2: "two", HOME: "/root", NESTED: "${env:A} $${ $&" },
    files: {
      "/run/secret": "three\n",
      "/etc/monitor/relative": "four",
      "/crlf": "five\r\n",
      "/two": "six\n\n",
      "/empty": "",
      "/newline": "\n",
      "/mark": "\ufeffseven",
      "/with space": "eight",
      "/inner": "a\nb\n",
    },
  };
  const rows: Readonly<Record<string, string>> = {
    "${env:A}": "one",
    "${env:EMPTY}": "",
    "${env:NESTED}": "${env:A} $${ $&",
    "${file:/run/secret}": "three",
    "${file:/crlf}": "five",
    "${file:/mark}": "seven",
    "$${env:A}": "${env:A}",
    "$${${env:A}}": "${one}",
    "${env:A}$${env:A}": "one${env:A}",
    "${HOME}": "${HOME}",
    "${ENV:A}": "${ENV:A}",
    "${ env:A}": "${ env:A}",
    "${env:A": "${env:A",
  };
  for (const [written, resolved] of Object.entries(rows)) {
    await t.step(JSON.stringify(written), async () => {
      const { value, problems } = await substituteIn(parse({ a: [written] }), options);
      assert.deepEqual(problems, []);
      assert.equal(JSON.stringify(value), JSON.stringify({ a: [resolved] }));
    });
  }
});

Deno.test("substitute() replaces in every string, but in no key and no other value", async () => {
  const config = parse({
    "${env:A}": 1,
    a: ["${env:A}", { b: "${env:A}" }, [["${env:A}"]], true, null, 1.5],
  });
  const { value, substitutions } = await substituteIn(config, { environment: { A: "x" } });
  assert.equal(JSON.stringify(value), '{"${env:A}":1,"a":["x",{"b":"x"},[["x"]],true,null,1.5]}');
  assert.deepEqual(substitutions.map(({ path }) => path.join(".")), ["a.0", "a.1.b", "a.2.0.0"]);
});

Deno.test("substitute() returns the position of each value in a text", async () => {
  const { substitutions } = await substituteIn(parse({ a: "$${${env:A}-${env:B}${env:A}" }), {
    environment: { A: "xx", B: "" },
  });
  assert.deepEqual(substitutions, [{
    path: ["a"],
    resolved: "${xx-xx",
    parts: [{ value: "xx", start: 2 }, { value: "", start: 5 }, { value: "xx", start: 5 }],
  }]);
});

Deno.test("substitute() names the flag that reading a variable or a file requires", async () => {
  const denied = new Deno.errors.NotCapable("Requires read access");
  const options = { forbidden: ["TOKEN"], files: { "/etc/monitor/secret": denied } };
  const { problems } = await substituteIn(parse({ a: "${env:TOKEN}", b: "${file:secret}" }), options);
  assert.deepEqual(problems.map(({ message, ...others }) => [message.replace(/.* grant /, ""), others]), [
    ["--allow-env=TOKEN", { path: ["a"], isLack: true, denied: "env" }],
    ["--allow-read=/etc/monitor/secret", { path: ["b"], isLack: true, denied: "read" }],
  ]);
});

Deno.test("substitute() without secrets reads nothing and resolves only the escape", async () => {
  const denied = { forbidden: ["A"], files: { "/f": new Error("must not be read") }, withoutSecrets: true };
  const config = parse({ a: "${env:A}", b: "${file:/f}", c: "$${env:A}", d: "$${ ${env:A}", e: "${env:}" });
  const { value, substitutions, problems } = await substituteIn(config, denied);
  assert.deepEqual(problems, []);
  assert.equal(
    JSON.stringify(value),
    JSON.stringify({ a: "${env:A}", b: "${file:/f}", c: "${env:A}", d: "$${ ${env:A}", e: "${env:}" }),
  );
  assert.deepEqual(substitutions.map(({ resolved }) => resolved), [null, null, "${env:A}", null, null]);
});

Deno.test("substitute() escapes any text by writing $${ for ${", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom("$", "{", "}", "env:A", "file:", "a") }),
      async (text) => {
        // A dollar right before an escape belongs to it, so a text with one cannot be written this way.
        fc.pre(!text.includes("$${"));
        const { value, problems } = await substituteIn([text.replaceAll("${", () => "$${")]);
        assert.deepEqual([value, problems], [[text], []]);
      },
    ),
  );
});

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
