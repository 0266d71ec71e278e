import assert from "node:assert/strict";
import { warningsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const CHECK = { kind: "test", parameters: {} };
const mail = (password: string) => ({
  kind: "email",
  parameters: {
    access: { host: "h", port: 25, username: "", password },
    sender: "a@b",
    receivers: ["a@b"],
  },
});

Deno.test("loadConfig() warns that no check is active", async (t) => {
  const none = "checks: there are no checks";
  const inactive = "checks: every check is inactive";
  const rows: Readonly<Record<string, readonly [config: unknown, warnings: readonly string[]]>> = {
    "no checks member": [{ defaults: {} }, [none]],
    "every check is inactive": [{ defaults: {}, checks: { a: { ...CHECK, active: false } } }, [inactive]],
    "one is active against the defaults": [
      { defaults: { active: false }, checks: { a: CHECK, b: { ...CHECK, active: true } } },
      [],
    ],
  };
  await testRows(t, rows, async ([config, warnings]) => {
    assert.deepEqual(await warningsOf(config), warnings);
  });
});

Deno.test("loadConfig() warns of an inactive dependency", async () => {
  const checks = {
    web: { ...CHECK, depends_on: ["router", "switch"] },
    off: { ...CHECK, active: false, depends_on: ["switch"] },
    router: CHECK,
    switch: { ...CHECK, active: false },
  };
  assert.deepEqual(await warningsOf({ defaults: {}, checks }), [
    'checks.web.depends_on[1]: is "switch", which is inactive and suppresses nothing',
  ]);
});

Deno.test("loadConfig() warns of a secret in arguments", async (t) => {
  const script = (...given: string[]) =>
    withCheck({ kind: "script", parameters: { path: "/x", arguments: given } });
  const options = { environment: { TOKEN: "swordfish" }, files: { "/token": "swordfish" } };
  const warning = (index: number, shown: string) =>
    `checks.web.parameters.arguments[${index}]: "${shown}" puts a secret into the command's arguments, which ps ` +
    'shows to every user (pass it in "environment")';
  await t.step("from a variable, and from a file", async () => {
    assert.deepEqual(await warningsOf(script("-v", "${env:TOKEN}", "--token=${file:/token}"), options), [
      warning(1, "${env:TOKEN}"),
      warning(2, "--token=${file:/token}"),
    ]);
  });
  await t.step("not of text that resembles one", async () => {
    assert.deepEqual(await warningsOf(script("$${env:TOKEN}", "${TOKEN}", "$TOKEN"), options), []);
  });
});

Deno.test("loadConfig() warns of a password in a config that others can read", async (t) => {
  const config = (password: string) => ({
    defaults: { notifications: [mail(password)] },
    checks: { a: CHECK },
  });
  const options = { environment: { X: "swordfish" } };
  const warning = "defaults.notifications[0].parameters.access.password: every user of this machine " +
    "can read this secret (permissions 644) (write ${env:NAME} or ${file:/path}, or chmod o-r " +
    "/etc/monitor/monitor.jsonc)";
  const rows: Readonly<
    Record<string, readonly [password: string, mode: number, warnings: readonly string[]]>
  > = {
    "a literal one": ["swordfish", 0o644, [warning]],
    "a placeholder among other text": ["a${env:X}", 0o644, []],
  };
  await testRows(t, rows, async ([password, mode, warnings]) => {
    assert.deepEqual(await warningsOf(config(password), { ...options, mode }), warnings);
  });
  await t.step("in each place, without its secrets too", async () => {
    const both = {
      ...config("first"),
      checks: { a: { ...CHECK, notifications: [mail("second"), mail("${env:X}")] } },
    };
    const warnings = await warningsOf(both, { mode: 0o604, withoutSecrets: true });
    assert.deepEqual(warnings.map((line) => line.split(":")[0]), [
      "defaults.notifications[0].parameters.access.password",
      "checks.a.notifications[0].parameters.access.password",
    ]);
    assert.ok(!warnings.join().includes("first") && !warnings.join().includes("second"));
  });
  await t.step("in a webhook's headers, whose names suggest one", async () => {
    const headers = { Priority: "high", Authorization: "Bearer swordfish", "X-Token": "${env:X}" };
    const hook = { kind: "webhook", parameters: { target: "http://h/", headers } };
    const warnings = await warningsOf({ defaults: { notifications: [hook] }, checks: { a: CHECK } }, {
      ...options,
      mode: 0o644,
    });
    assert.deepEqual(warnings.map((line) => line.split(":")[0]), [
      "defaults.notifications[0].parameters.headers.Authorization",
    ]);
  });
});

Deno.test("loadConfig() warns of credentials in a URL that others can read", async (t) => {
  const rows: Readonly<Record<string, readonly [target: string, isWarned: boolean]>> = {
    "user information": ["https://me:swordfish@h.example/", true],
    "no credential": ["https://h.example/token?page=2&author=me", false],
    "placeholders": ["https://${env:X}@h.example/?token=${env:X}&key=${file:/a/b?c=d@e}", false],
  };
  await testRows(t, rows, async ([target, isWarned]) => {
    const check = { kind: "http_request", parameters: { request: { target }, response: {} } };
    const options = {
      mode: 0o644,
      environment: { X: "other" },
      files: { "/a/b?c=d@e": "third" },
    };
    const warnings = await warningsOf(withCheck(check), options);
    assert.equal(warnings.length, isWarned ? 1 : 0, warnings.join("\n"));
    if (isWarned) {
      assert.match(
        warnings[0] ?? "",
        /^checks\.web\.parameters\.request\.target: every user of this machine can read this secret/,
      );
      assert.ok(!warnings.join().includes("swordfish"));
    }
  });
});

Deno.test("loadConfig() warns of secrets that are too short to be hidden", async (t) => {
  const warning = "a secret of fewer than 4 characters is not hidden in outputs and logs";
  const script = (environment: object) => ({ kind: "script", parameters: { path: "/x", environment } });
  const rows: Readonly<Record<string, readonly [check: unknown, warnings: readonly string[]]>> = {
    "from a variable": [script({ T: "${env:SHORT}" }), [`checks.web.parameters.environment.T: ${warning}`]],
    "an interval": [{ kind: "test", timeout: "${env:NUMBER} s", parameters: {} }, []],
  };
  await testRows(t, rows, async ([check, warnings]) => {
    const options = {
      mode: 0o600,
      environment: { SHORT: "abc", LONG: "abcd", NUMBER: "5" },
      files: { "/short": "abc\n" },
    };
    assert.deepEqual(await warningsOf(withCheck(check), options), warnings);
  });
});

Deno.test("loadConfig() warns of a config that others can write", async (t) => {
  const warning = (mode: string) =>
    `: every user of this machine can write this config (permissions ${mode}) (chmod o-w /etc/monitor/monitor.jsonc)`;
  const rows: Readonly<Record<string, readonly [mode: number, warnings: readonly string[]]>> = {
    "666": [0o666, [warning("666")]],
    "644": [0o644, []],
  };
  await testRows(t, rows, async ([mode, warnings]) => {
    assert.deepEqual(await warningsOf(withCheck(CHECK), { mode }), warnings);
  });
});

Deno.test("loadConfig() warns of paths that cannot work", async (t) => {
  const script = (path: string) => withCheck({ kind: "script", parameters: { path } });
  const file = (path: string) => withCheck({ kind: "file_timestamp", parameters: { path } });
  const files = {
    "/b": { mode: 0o644 },
    "/d": { kind: "directory" },
    "/e": {},
    "/a b": { mode: 0o755 },
  } as const;
  const at = "checks.web.parameters.path:";
  const TILDE = 'begins with "~", which no shell expands here (write the full path)';
  const VARIABLE = "has a variable in it, which no shell expands here";
  const rows: Readonly<Record<string, readonly [config: unknown, warning: string | null]>> = {
    "a dollar sign": [file("/a$/b$1"), null],
    "a variable from a placeholder": [
      file("${env:P}"),
      `"\${env:P}" ${VARIABLE} (write the full path)`,
    ],
  };
  await testRows(t, rows, async ([config, warning]) => {
    const warnings = await warningsOf(config, { files, environment: { P: "/$SWORDFISH" } });
    assert.deepEqual(warnings, warning === null ? [] : [`${at} ${warning}`]);
  });
  await t.step("not if such a file exists", async () => {
    for (const path of ["/$HOME", "/*", "/e "]) {
      assert.deepEqual(await warningsOf(file(path), { files: { [path]: {} } }), [], path);
    }
  });
  await t.step("not of commands on another machine", async () => {
    assert.deepEqual(await warningsOf(script("/none"), { withoutSecrets: true }), []);
    assert.deepEqual(await warningsOf(script("~/x"), { withoutSecrets: true }), [`${at} "~/x" ${TILDE}`]);
  });
});

Deno.test("loadConfig() warns of the variable of a shell in a credential, a header, a host or a URL", async (t) => {
  const warning = (path: string, shown: string, name: string): string =>
    `${path}: "${shown}" has a variable in it, which no shell expands here (write \${env:${name}})`;
  const request = (value: unknown) => withCheck({ kind: "http_request", parameters: { request: value } });
  const target = "https://example.org/";
  const webhook = (body: unknown) => ({
    channels: { chat: { kind: "webhook", parameters: { target, body } } },
    defaults: { notifications: ["chat"] },
    checks: { web: CHECK },
  });
  const place = "checks.web.parameters.request";
  const rows: Readonly<Record<string, readonly [config: unknown, warnings: readonly string[]]>> = {
    "a braced variable in a URL": [
      request({ target: "https://example.org/${TOKEN}/x" }),
      [warning(`${place}.target`, "https://example.org/${TOKEN}/x", "TOKEN")],
    ],
    "a key in the body of a webhook": [
      webhook({ text: "{{summary}} costs $USD", routing_key: "${PD_KEY}" }),
      [warning("channels.chat.parameters.body.routing_key", "${PD_KEY}", "PD_KEY")],
    ],
    "a placeholder": [request({ target, headers: { Authorization: "Bearer ${env:API_TOKEN}" } }), []],
    "a query of OData": [request({ target: "https://example.org/?$filter=Price" }), []],
    "a dollar sign within a password": [
      { defaults: { notifications: [mail("pa$SWORD")] }, checks: { web: CHECK } },
      [],
    ],
  };
  await testRows(t, rows, async ([config, warnings]) => {
    const options = { environment: { API_TOKEN: "swordfish" }, files: { "/x": { mode: 0o755 } } };
    assert.deepEqual(await warningsOf(config, options), warnings);
  });
});
