import assert from "node:assert/strict";
import { locateConfig } from "../../src/config/source.ts";
import { type ConfigSystemOptions, createConfigSystem, errorOf } from "../../testing/config_system.ts";

const HOME = { HOME: "/home/me" };

function locate(options: ConfigSystemOptions, named?: string): ReturnType<typeof locateConfig> {
  return locateConfig(named, createConfigSystem(options));
}

Deno.test("locateConfig() returns the named path, whether it exists or not", async () => {
  const options = {
    environment: { ...HOME, MONITOR_CONFIG: "/from/environment" },
    files: { "./monitor.jsonc": "{}" },
  };
  assert.deepEqual(await locate(options, "given.jsonc"), { path: "given.jsonc", named: true });
  assert.deepEqual(await locate(options, "-"), { path: "-", named: true });
  assert.deepEqual(await locate(options, ""), { path: "", named: true });
  assert.deepEqual(await locate(options), { path: "/from/environment", named: true });
  const piped = { environment: { MONITOR_CONFIG: "-" } };
  assert.deepEqual(await locate(piped), { path: "-", named: true });
});

Deno.test("locateConfig() returns the first path that exists", async () => {
  const paths = [
    "./monitor.jsonc",
    "./monitor.json",
    "/xdg/monitor/monitor.jsonc",
    "/xdg/monitor/monitor.json",
    "/etc/monitor/monitor.jsonc",
    "/etc/monitor/monitor.json",
  ];
  const environment = { ...HOME, XDG_CONFIG_HOME: "/xdg" };
  for (const [index, path] of paths.entries()) {
    const files = Object.fromEntries(paths.slice(index).map((present) => [present, "{}"]));
    assert.deepEqual(await locate({ environment, files }), { path, named: false });
  }
  const error = await errorOf(locate({ environment }));
  assert.equal(error.message, `cannot find a config: looked for ${paths.join(", ")}`);
  assert.equal(error.hint, "set --config PATH, or create one with: monitor init");
});

Deno.test("locateConfig() ignores a relative XDG_CONFIG_HOME", async () => {
  const { message } = await errorOf(locate({ environment: { ...HOME, XDG_CONFIG_HOME: "xdg" } }));
  assert.match(message, /looked for .*, \/home\/me\/\.config\/monitor\/monitor\.jsonc, /);
});

Deno.test("locateConfig() skips unreadable directories, and stops at other failures", async () => {
  const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
  const noDirectory = new Deno.errors.NotADirectory("Not a directory (os error 20)");
  const broken = new Error("Input/output error (os error 5)");
  const path = "/etc/monitor/monitor.json";
  const files = { "./monitor.jsonc": denied, "./monitor.json": noDirectory, [path]: "{}" };
  assert.deepEqual(await locate({ files }), { path, named: false });
  const found = await locate({ files: { ...files, "./monitor.jsonc": broken } });
  assert.deepEqual(found, { path: "./monitor.jsonc", named: false });
});

Deno.test("locateConfig() names a missing permission, unless it finds a config elsewhere", async () => {
  const denied = new Deno.errors.NotCapable('Requires read access to "./monitor.jsonc"');
  const later = new Deno.errors.NotCapable("Requires read access to another");
  const files = { "./monitor.jsonc": denied, "./monitor.json": later };
  await assert.rejects(locate({ files }), denied);
  const found = await locate({ files: { ...files, "/etc/monitor/monitor.json": "{}" } });
  assert.equal(found.path, "/etc/monitor/monitor.json");
});
