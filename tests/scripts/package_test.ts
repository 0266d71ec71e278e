/** The packages, with fake executables: only the files around them are tested here. */
import assert from "node:assert/strict";
import { executableName, TARGETS } from "../../scripts/compile.ts";
import { makePackages } from "../../scripts/package.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";

async function withPackages(
  use: (directory: string, made: readonly string[]) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_packages_" });
  try {
    for (const target of TARGETS) await Deno.writeTextFile(`${directory}/${executableName(target)}`, target);
    const executables = new URL(`file://${directory}/`);
    Deno.env.set("SOURCE_DATE_EPOCH", "1750000000");
    await use(
      `${directory}/out`,
      await makePackages({ executables, packages: new URL("out/", executables) }),
    );
  } finally {
    Deno.env.delete("SOURCE_DATE_EPOCH");
    await Deno.remove(directory, { recursive: true });
  }
}

async function run(name: "dpkg-deb" | "sh" | "tar", ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runChild(tool(name), args);
  assert.strictEqual(code, 0, stderr);
  return stdout;
}

Deno.test(
  "makePackages() creates an archive of every executable, with all its files",
  requiresTools("time"),
  () =>
    withPackages(async (directory, made) => {
      assert.strictEqual(made.filter((name) => /\.(tar\.gz|zip)$/.test(name)).length, TARGETS.length);
      const name = "monitor_darwin_arm64";
      const archive = `${directory}/${name}.tar.gz`;
      const listed = await run("tar", "--list", "--verbose", "--numeric-owner", "--file", archive);
      const texts = ["README.md", "LICENSE", "LICENSES.txt", "completions/_monitor", "man/monitor.1"]
        .concat("docs/reference/checks.md", "examples/systemd/monitor.service");
      for (const path of texts) assert.match(listed, new RegExp(`^-rw-r--r-- 0/0 .* ${name}/${path}$`, "m"));
      assert.match(listed, new RegExp(`^-rwxr-xr-x 0/0 .* ${name}/monitor$`, "m"));
      const path = `${name}/examples/container/Containerfile`;
      const containerfile = await run("tar", "--extract", "--to-stdout", "--file", archive, path);
      assert.match(containerfile, /^COPY --chmod=755 monitor /m, "it lies beside the executable");
      const zip = await Deno.readFile(`${directory}/monitor_windows_amd64.zip`);
      assert.ok(new TextDecoder("latin1").decode(zip).includes("/monitor.exe"));
    }),
);

Deno.test(
  "makePackages() is reproducible, with valid checksums",
  requiresTools("time"),
  () =>
    withPackages(async (directory) => {
      const sums = await Deno.readTextFile(`${directory}/SHA256SUMS`);
      await run("sh", "-c", `cd '${directory}' && sha256sum --check --strict SHA256SUMS`);
      await withPackages(async (again) => {
        assert.strictEqual(await Deno.readTextFile(`${again}/SHA256SUMS`), sums);
      });
    }),
);

Deno.test(
  "makePackages() makes Debian packages whose units run the installed executable",
  requiresTools("time"),
  () =>
    withPackages(async (directory, made) => {
      // Without it none are made.
      await run("dpkg-deb", "--version");
      assert.deepStrictEqual(made.filter((name) => name.endsWith(".deb")), [
        "monitor_linux_amd64.deb",
        "monitor_linux_arm64.deb",
      ]);
      const path = `${directory}/monitor_linux_arm64.deb`;
      assert.strictEqual((await run("dpkg-deb", "--field", path, "Architecture")).trim(), "arm64");
      await run("dpkg-deb", "--extract", path, `${directory}/tree`);
      const unit = await Deno.readTextFile(`${directory}/tree/lib/systemd/system/monitor.service`);
      assert.match(unit, /^ExecStart=\/usr\/bin\/monitor check/m);
      assert.doesNotMatch(unit, /usr\/local/);
      assert.strictEqual(
        await Deno.readTextFile(`${directory}/tree/usr/bin/monitor`),
        "aarch64-unknown-linux-gnu",
      );
    }),
);
