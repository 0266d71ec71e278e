/**
 * The steps of a release, as far as this machine allows. Not run here: the upload with `gh`, the image with `docker`, the
 * attestation of the provenance, and executables of other targets. Their commands are parsed.
 */
import assert from "node:assert/strict";
import project from "../../deno.json" with { type: "json" };
import licenses from "../../src/cli/generated/licenses.json" with { type: "json" };
import { PROJECT_URL } from "../../src/cli/help.ts";
import { checkRelease, completeRelease, releaseSbom, SBOM_NAME } from "../../scripts/release.ts";
import { makeTarball } from "../../scripts/package/archive.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

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

Deno.test(
  "releaseSbom() lists every package of the executable with its license and checksum",
  requiresTools("time"),
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

Deno.test({
  ...requiresTools("curl"),
  name: "install.sh installs the executable of this machine, and rejects another checksum",
  fn: async (t) => {
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
});
