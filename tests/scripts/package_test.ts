/**
 * The packages, with fake executables: only the files around them are tested here. `tests/packages/` installs a real
 * package, and compares two builds.
 */
import assert from "node:assert/strict";
import { executableName, TARGETS } from "../../scripts/compile.ts";
import { makePackages } from "../../scripts/package.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { runChild, testWith, tool } from "../../testing/tools.ts";
import project from "../../deno.json" with { type: "json" };
import licenses from "../../src/cli/generated/licenses.json" with { type: "json" };
import { PROJECT_URL } from "../../src/cli/help.ts";
import { checkRelease, completeRelease, releaseSbom, SBOM_NAME } from "../../scripts/release.ts";
import { makeTarball } from "../../scripts/package/archive.ts";
import manifest from "../../import_map.json" with { type: "json" };
import { PROJECT } from "../docs/pages.ts";

async function tar(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runChild(tool("tar"), args);
  assert.strictEqual(code, 0, stderr);
  return stdout;
}

testWith("time")("makePackages() creates an archive of every executable, with all its files", async () => {
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
});

// The steps of a release, as far as this machine allows. Not run here: the upload with `gh`, the image with `docker`, the
// attestation of the provenance, and executables of other targets. Their commands are parsed.

Deno.test("checkRelease() accepts the version's tag, and rejects another one and another repository", async () => {
  const tag = `v${project.version}`;
  await checkRelease(tag, PROJECT_URL.split("/").slice(-2).join("/"));
  await assert.rejects(
    () => checkRelease("v9.9.9"),
    /^Error: Cannot release "v9.9.9": deno.json has version/,
  );
  await assert.rejects(
    () => checkRelease(tag, "other/monitor"),
    /^Error: Cannot release from "other\/monitor"/,
  );
});

testWith("time")(
  "releaseSbom() lists every package of the executable with its license and checksum",
  async () => {
    const sbom = JSON.parse(await releaseSbom()) as {
      readonly serialNumber: string;
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly purl: string;
        readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
        readonly licenses: readonly unknown[];
      }[];
    };
    assert.match(
      sbom.serialNumber,
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.deepEqual(
      sbom.components.map(({ name, version }) => `${name} ${version}`),
      [`deno ${Deno.version.deno}`, ...licenses.packages.map(({ name, version }) => `${name} ${version}`)],
    );
    for (const { purl, hashes, licenses } of sbom.components) {
      assert.match(purl, /^pkg:(npm|github)\/[^ @]+@v?\d/);
      assert.equal(licenses.length, 1);
      for (const { alg, content } of hashes ?? []) {
        assert.equal(alg, "SHA-512");
        assert.match(content, /^[0-9a-f]{128}$/);
      }
    }
    assert.equal(await releaseSbom(), await releaseSbom(), "the same for the same commit");
  },
);

testWith("curl")(
  "install.sh installs the executable of this machine, and rejects another checksum",
  async (t) => {
    await using temporary = await tempDirectory();
    const directory = temporary.path;
    const name = `monitor_${Deno.build.os}_${Deno.build.arch === "x86_64" ? "amd64" : "arm64"}`;
    const archive = `${name}.tar.gz`;
    const content = new TextEncoder().encode("#!/bin/sh\necho monitor 9.9.9\n");
    await Deno.mkdir(`${directory}/files`);
    await makeTarball(`${directory}/files/${archive}`, {
      name,
      files: [{ path: "monitor", content, isExecutable: true }],
      time: { epochSeconds: 0, date: "" },
    });
    await completeRelease(new URL(`file://${directory}/files/`));
    const names = [...Deno.readDirSync(`${directory}/files`)].map((file) => file.name);
    assert.deepEqual(names.sort(), ["SHA256SUMS", "install.sh", SBOM_NAME, archive]);
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        const bytes = await Deno.readFile(`${directory}/files${new URL(request.url).pathname}`).catch(() =>
          null
        );
        return bytes === null ? new Response("not found", { status: 404 }) : new Response(bytes);
      },
    );
    const install = (into: string) =>
      runChild(tool("sh"), [`${directory}/files/install.sh`], {
        env: {
          MONITOR_DOWNLOAD_URL: `http://127.0.0.1:${server.addr.port}`,
          MONITOR_INSTALL_DIR: into,
          no_proxy: "*",
        },
      });
    await t.step("installs", async () => {
      const { code, stdout, stderr } = await install(`${directory}/bin`);
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        new RegExp(`^installed monitor 9\\.9\\.9 as ${directory}/bin/monitor\nadd it to PATH: `),
      );
      assert.equal(((await Deno.stat(`${directory}/bin/monitor`)).mode ?? 0) & 0o777, 0o755);
    });
    await t.step("another checksum", async () => {
      await Deno.writeTextFile(`${directory}/files/${archive}`, "something else");
      const { code, stderr } = await install(`${directory}/other`);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^install.sh: error: checksum of ${archive} is [0-9a-f]{64}, expected [0-9a-f]{64}$`,
          "m",
        ),
      );
      await assert.rejects(() => Deno.stat(`${directory}/other/monitor`), Deno.errors.NotFound);
    });
    await t.step("no such file", async () => {
      await Deno.remove(`${directory}/files/${archive}`);
      const { code, stderr } = await install(`${directory}/other`);
      assert.equal(code, 1);
      assert.match(stderr, /install.sh: error: cannot download http:/);
    });
  },
);

interface LockedPackage {
  readonly integrity: string;
  /** Given where it wants to run something when it is installed. */
  readonly scripts?: true;
}

Deno.test("every package is pinned with its checksum, and none runs anything when it is installed", () => {
  const lock = JSON.parse(Deno.readTextFileSync(`${PROJECT}deno.lock`)) as {
    readonly npm: Readonly<Record<string, LockedPackage>>;
  };
  const packages = Object.entries(lock.npm);
  assert.ok(packages.length > 30);
  for (const [name, { integrity, scripts }] of packages) {
    assert.match(integrity, /^sha512-/, name);
    assert.equal(scripts, undefined, name);
  }
  for (const address of Object.values(manifest.imports)) assert.match(address, /^npm:.*@\d+\.\d+\.\d+\/?$/);
});
