/**
 * The tutorial, followed literally: every command of it, with GitHub, Slack and the website replaced by servers on
 * loopback. Not run here: the last step, which needs root and systemd.
 */
import assert from "node:assert/strict";
import { monitorCommand, sourceEnvironment } from "../../testing/source.ts";
import { makeTarball } from "../../scripts/package/archive.ts";
import { completeRelease } from "../../scripts/release.ts";
import { PROJECT_URL } from "../../src/cli/help.ts";
import { runChild, testWith, tool } from "../../testing/tools.ts";
import { readPage } from "./pages.ts";
import { tempDirectory } from "../../testing/builders.ts";

testWith("curl")("docs/start/tutorial.md leads to messages in Slack when followed literally", async () => {
  await using temporary = await tempDirectory();
  const home = temporary.path;
  const posts: string[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/services/")) {
        posts.push((JSON.parse(await request.text()) as { readonly text: string }).text);
        return new Response("ok");
      }
      if (pathname === "/website") return new Response("hello");
      const bytes = await Deno.readFile(`${home}/release/${pathname.split("/").at(-1)}`).catch(() => null);
      return bytes === null ? new Response("not found", { status: 404 }) : new Response(bytes);
    },
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await makeRelease(`${home}/release`);
  const steps = readPage("docs/start/tutorial.md").blocks.filter(({ language }) => language === "sh")
    .map(({ text }) => text).filter((text) => !text.includes("sudo"));
  assert.equal(steps.length, 5);
  const alerted = steps.slice(0, 4).join("\n");
  assert.ok(commandsIn(alerted).length <= COMMANDS_MAX, commandsIn(alerted).join("\n"));
  const script = steps.join("\n")
    .replaceAll(`${PROJECT_URL}/releases/latest/download`, origin)
    .replaceAll("https://hooks.slack.com", origin)
    .replaceAll("https://example.org/", `${origin}/website`);
  const { stdout, stderr } = await runChild(tool("sh"), ["-c", `set -x\n${script}`], {
    clearEnv: true,
    env: {
      ...sourceEnvironment(),
      HOME: home,
      PATH: "/usr/local/bin:/usr/bin:/bin",
      MONITOR_DOWNLOAD_URL: origin,
      MONITOR_INSTALL_DIR: `${home}/.local/bin`,
      NO_COLOR: "1",
      no_proxy: "*",
    },
  });
  assert.match(stdout, /^installed monitor /m, stderr);
  assert.match(
    stdout,
    /^added 5 checks to \S+: 127.0.0.1_\d+_website, disk, memory, load, backup.tar$/m,
    stderr,
  );
  assert.match(stdout, /^CRITICAL +backup.tar/m, stderr);
  assert.match(posts[0] ?? "", /test/i);
  // The machine may be busy: its load is checked, too.
  const backup = posts.filter((text) => text.includes("backup.tar is "));
  assert.equal(backup.length, 2, `${posts.join("\n")}\n${stderr}`);
  assert.match(backup[0] ?? "", /backup\.tar is critical: /);
  assert.match(backup[1] ?? "", /backup\.tar is ok again/);
});

/** From the empty machine to the first alert, with five checks. */
const COMMANDS_MAX = 12;

/** The commands of a script: its lines without those of a text that is written. */
function commandsIn(script: string): readonly string[] {
  return script.replaceAll(/<<'EOF'\n.*?\nEOF$/gms, "").split("\n").filter((line) => line.trim() !== "");
}

/** A release whose executable is the one under test, else one that runs the source. */
async function makeRelease(directory: string): Promise<void> {
  await Deno.mkdir(directory);
  const program = Deno.env.get("MONITOR_PROGRAM");
  const command = monitorCommand().map((word) => `'${word}'`).join(" ");
  const content = program === undefined
    ? new TextEncoder().encode(`#!/bin/sh\nexec ${command} "$@"\n`)
    : await Deno.readFile(program);
  const name = `monitor_${Deno.build.os}_${Deno.build.arch === "x86_64" ? "amd64" : "arm64"}`;
  await makeTarball(`${directory}/${name}.tar.gz`, {
    name,
    files: [{ path: "monitor", content, isExecutable: true }],
    time: { epochSeconds: 0, date: "" },
  });
  await completeRelease(new URL(`file://${directory}/`));
}
