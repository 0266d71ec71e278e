/** The limits of the runtime's permissions, as documented in docs/guides/least_privilege.md. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { createCertificate } from "../support/certificates.ts";
import { startServer } from "../support/http_servers.ts";
import { requiresTools } from "../../testing/tools.ts";
import { flagsFor, type PermissionHarness, withPermissions } from "./harness.ts";

const test = concurrentTests("monitor: limits of permissions", requiresTools("time"));

interface PrintedCheck {
  readonly name: string;
  readonly condition: string;
  readonly output: string;
}

async function checkOnce(
  harness: PermissionHarness,
  options: Parameters<PermissionHarness["run"]>[1],
): Promise<readonly PrintedCheck[]> {
  const { stdout, stderr } = await harness.run(
    ["check", "--once", "--state", "none", "--format", "json"],
    options,
  );
  assert.notStrictEqual(stdout, "", stderr);
  return (JSON.parse(stdout) as { readonly checks: readonly PrintedCheck[] }).checks;
}

function requestTo(target: string): unknown {
  return { kind: "http_request", parameters: { request: { target }, response: { status_code: 200 } } };
}

test("a redirect to a host that is not granted is not followed, and the output names the flag", () =>
  withPermissions(async (harness) => {
    await using elsewhere = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    await using leading = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(
        `HTTP/1.1 302 Found\r\nLocation: ${elsewhere.origin}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
    });
    harness.writeConfig({ web: requestTo(`${leading.origin}/`) });
    const [web] = await checkOnce(harness, { permissions: flagsFor(await harness.requiredPermissions()) });
    assert.strictEqual(web?.condition, "unknown");
    assert.ok(web?.output.includes(`--allow-net=127.0.0.1:${elsewhere.port}`), web?.output);
    assert.deepStrictEqual([leading.visits, elsewhere.visits], [1, 0]);
  }));

test("a symlink in the place of a granted file leads out: the path is what is granted", () =>
  withPermissions(async (harness) => {
    Deno.mkdirSync(`${harness.directory}/granted`);
    Deno.mkdirSync(`${harness.directory}/outside`);
    Deno.writeTextFileSync(`${harness.directory}/outside/file`, "");
    Deno.symlinkSync("../outside/file", `${harness.directory}/granted/link`);
    const age = (path: string): unknown => ({
      kind: "file_timestamp",
      parameters: { path, condition_on_missing: "critical" },
    });
    harness.writeConfig({ link: age("./granted/link") });
    const permissions = flagsFor(await harness.requiredPermissions());
    assert.ok(permissions.some((flag) => flag.includes("granted/link")));
    assert.ok(!permissions.some((flag) => flag.includes("outside")));
    const [link] = await checkOnce(harness, { permissions });
    assert.strictEqual(link?.condition, "ok", link?.output ?? "");
    harness.writeConfig({ file: age("./outside/file") });
    const [file] = await checkOnce(harness, { permissions });
    assert.strictEqual(file?.condition, "unknown");
    assert.match(file.output, /--allow-read=.*outside\/file/);
  }));

test(
  "a listed program that its owner replaces is run as it is then",
  () =>
    withPermissions(async (harness) => {
      const permissions = flagsFor(await harness.requiredPermissions());
      const before = await checkOnce(harness, { permissions });
      assert.strictEqual(before.find(({ name }) => name === "script")?.output, "all is lost");
      Deno.renameSync(`${harness.directory}/probe.sh`, `${harness.directory}/old.sh`);
      harness.writeScript("probe.sh", "echo somebody else wrote this");
      const after = await checkOnce(harness, { permissions });
      assert.strictEqual(after.find(({ name }) => name === "script")?.output, "somebody else wrote this");
    }),
  requiresTools("kill"),
);

test("with a proxy variable set the request goes to the proxy, though only the target is granted", () =>
  withPermissions(async (harness) => {
    await using proxy = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 418 Proxy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    harness.writeConfig({ web: requestTo("http://granted.example/") });
    const permissions = flagsFor(await harness.requiredPermissions());
    const environment = { HTTP_PROXY: proxy.origin };
    const [web] = await checkOnce(harness, { permissions, environment });
    assert.match(web?.output ?? "", /status is 418/);
    assert.strictEqual(proxy.visits, 1);
    const { code, stderr } = await harness.run(["permissions", "--check"], { permissions, environment });
    assert.strictEqual(code, 0);
    assert.match(stderr, /warning: HTTP_PROXY is set/);
  }));

test("with SSLKEYLOGFILE set the runtime writes TLS keys, though nothing may be written", () =>
  withPermissions(async (harness) => {
    const certificate = createCertificate();
    await using secure = startServer(() => Promise.resolve(), { certificate });
    harness.writeConfig({ web: requestTo(secure.origin) });
    const permissions = flagsFor(await harness.requiredPermissions());
    assert.ok(!permissions.some((flag) => flag.includes("keys")));
    await checkOnce(harness, { permissions, environment: { SSLKEYLOGFILE: `${harness.directory}/keys` } });
    assert.match(Deno.readTextFileSync(`${harness.directory}/keys`), /^SERVER_HANDSHAKE_TRAFFIC_SECRET /m);
  }));

test(
  "a script is not held by the permissions: it may do what its user may",
  () =>
    withPermissions(async (harness) => {
      harness.writeScript("probe.sh", "cat outside; exit 0");
      Deno.writeTextFileSync(`${harness.directory}/outside`, "read by the script\n");
      const checks = await checkOnce(harness, { permissions: flagsFor(await harness.requiredPermissions()) });
      assert.strictEqual(checks.find(({ name }) => name === "script")?.output, "read by the script");
    }),
  requiresTools("kill"),
);
