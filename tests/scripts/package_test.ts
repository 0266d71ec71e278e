/**
 * The packages, with fake executables: only the files around them are tested here. `tests/packages/` installs a real
 * package, and compares two builds.
 */
import assert from "node:assert/strict";
import { executableName, TARGETS } from "../../scripts/compile.ts";
import { makePackages } from "../../scripts/package.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";

async function tar(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runChild(tool("tar"), args);
  assert.strictEqual(code, 0, stderr);
  return stdout;
}

Deno.test(
  "makePackages() creates an archive of every executable, with all its files",
  requiresTools("time"),
  async () => {
    await using temporary = await tempDirectory(
      Object.fromEntries(TARGETS.map((target) => [executableName(target), target])),
    );
    const executables = new URL(`file://${temporary.path}/`);
    const made = await makePackages({ executables, packages: new URL("out/", executables) });
    assert.strictEqual(made.filter((name) => /\.(tar\.gz|zip)$/.test(name)).length, TARGETS.length);
    const name = "monitor_darwin_arm64";
    const archive = `${temporary.path}/out/${name}.tar.gz`;
    const listed = await tar("--list", "--verbose", "--numeric-owner", "--file", archive);
    const texts = ["README.md", "LICENSE", "LICENSES.txt", "completions/_monitor", "man/monitor.1"]
      .concat("docs/reference/checks.md", "examples/systemd/monitor.service");
    for (const path of texts) assert.match(listed, new RegExp(`^-rw-r--r-- 0/0 .* ${name}/${path}$`, "m"));
    assert.match(listed, new RegExp(`^-rwxr-xr-x 0/0 .* ${name}/monitor$`, "m"));
    const path = `${name}/examples/container/Containerfile`;
    const containerfile = await tar("--extract", "--to-stdout", "--file", archive, path);
    assert.match(containerfile, /^COPY --chmod=755 monitor /m, "it is in the directory of the executable");
    const zip = await Deno.readFile(`${temporary.path}/out/monitor_windows_amd64.zip`);
    assert.ok(new TextDecoder("latin1").decode(zip).includes("/monitor.exe"));
    assert.strictEqual(made.filter((name) => name.endsWith(".deb")).length, 2);
  },
);
