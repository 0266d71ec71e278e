/** What the runtime's permissions do and do not stop, as docs/guides/least_privilege.md says. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { createCertificate } from "../support/certificates.ts";
import { startServer } from "../support/http_servers.ts";
import { needs } from "../../testing/tools.ts";
import { flagsFor, type PermissionStage, withNeeds } from "./stage.ts";

const test = concurrentTests("monitor: limits of permissions");

interface PrintedCheck {
  readonly name: string;
  readonly condition: string;
  readonly output: string;
}

async function checkOnce(
  stage: PermissionStage,
  options: Parameters<PermissionStage["run"]>[1],
): Promise<readonly PrintedCheck[]> {
  const { stdout, stderr } = await stage.run(
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
  withNeeds(async (stage) => {
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
    stage.writeConfig({ web: requestTo(`${leading.origin}/`) });
    const [web] = await checkOnce(stage, { permissions: flagsFor(await stage.needs()) });
    assert.strictEqual(web?.condition, "unknown");
    assert.ok(web?.output.includes(`--allow-net=127.0.0.1:${elsewhere.port}`), web?.output);
    assert.deepStrictEqual([leading.visits, elsewhere.visits], [1, 0]);
  }));

test("a symlink in the place of a granted file leads out: the path is what is granted", () =>
  withNeeds(async (stage) => {
    Deno.mkdirSync(`${stage.directory}/granted`);
    Deno.mkdirSync(`${stage.directory}/outside`);
    Deno.writeTextFileSync(`${stage.directory}/outside/file`, "");
    Deno.symlinkSync("../outside/file", `${stage.directory}/granted/link`);
    const age = (path: string): unknown => ({
      kind: "file_timestamp",
      parameters: { path, condition_on_missing: "critical" },
    });
    stage.writeConfig({ link: age("./granted/link") });
    const permissions = flagsFor(await stage.needs());
    assert.ok(permissions.some((flag) => flag.includes("granted/link")));
    assert.ok(!permissions.some((flag) => flag.includes("outside")));
    const [link] = await checkOnce(stage, { permissions });
    assert.strictEqual(link?.condition, "ok", link?.output ?? "");
    stage.writeConfig({ file: age("./outside/file") });
    const [file] = await checkOnce(stage, { permissions });
    assert.strictEqual(file?.condition, "unknown");
    assert.match(file.output, /--allow-read=.*outside\/file/);
  }));

test("a listed program that its owner replaces is run as it is then", () =>
  withNeeds(async (stage) => {
    const permissions = flagsFor(await stage.needs());
    const before = await checkOnce(stage, { permissions });
    assert.strictEqual(before.find(({ name }) => name === "script")?.output, "all is lost");
    Deno.renameSync(`${stage.directory}/probe.sh`, `${stage.directory}/old.sh`);
    stage.writeScript("probe.sh", "echo somebody else wrote this");
    const after = await checkOnce(stage, { permissions });
    assert.strictEqual(after.find(({ name }) => name === "script")?.output, "somebody else wrote this");
  }), needs("kill"));

test("with a proxy variable set the request goes to the proxy, though only the target is granted", () =>
  withNeeds(async (stage) => {
    await using proxy = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 418 Proxy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    stage.writeConfig({ web: requestTo("http://granted.example/") });
    const permissions = flagsFor(await stage.needs());
    const environment = { HTTP_PROXY: proxy.origin };
    const [web] = await checkOnce(stage, { permissions, environment });
    assert.match(web?.output ?? "", /status is 418/);
    assert.strictEqual(proxy.visits, 1);
    const { code, stderr } = await stage.run(["permissions", "--check"], { permissions, environment });
    assert.strictEqual(code, 0);
    assert.match(stderr, /warning: HTTP_PROXY is set/);
  }));

test("with SSLKEYLOGFILE set the runtime writes TLS keys, though nothing may be written", () =>
  withNeeds(async (stage) => {
    const certificate = createCertificate();
    await using secure = startServer(() => Promise.resolve(), { certificate });
    stage.writeConfig({ web: requestTo(secure.origin) });
    const permissions = flagsFor(await stage.needs());
    assert.ok(!permissions.some((flag) => flag.includes("keys")));
    await checkOnce(stage, { permissions, environment: { SSLKEYLOGFILE: `${stage.directory}/keys` } });
    assert.match(Deno.readTextFileSync(`${stage.directory}/keys`), /^SERVER_HANDSHAKE_TRAFFIC_SECRET /m);
  }));

test(
  "a script is not held by the permissions: it may do what its user may",
  () =>
    withNeeds(async (stage) => {
      stage.writeScript("probe.sh", "cat outside; exit 0");
      Deno.writeTextFileSync(`${stage.directory}/outside`, "read by the script\n");
      const checks = await checkOnce(stage, { permissions: flagsFor(await stage.needs()) });
      assert.strictEqual(checks.find(({ name }) => name === "script")?.output, "read by the script");
    }),
  needs("kill"),
);
