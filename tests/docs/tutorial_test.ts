/**
 * The tutorial, followed literally: every command of it, with GitHub, Slack and the website replaced by servers on
 * loopback. Not run here: the last step, which needs root and systemd.
 */
import assert from "node:assert/strict";
import { monitorCommand, sourceEnvironment } from "../../testing/source.ts";
import { makeTarball } from "../../scripts/package/archive.ts";
import { completeRelease } from "../../scripts/release.ts";
import { PROJECT_URL } from "../../src/cli/project_url.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { readPage } from "./pages.ts";

Deno.test({
  ...requiresTools("curl"),
  name: "docs/start/tutorial.md leads to messages in Slack when followed literally",
  fn: async () => {
    const home = await Deno.makeTempDir({ prefix: "monitor_tutorial_" });
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
    try {
      await makeRelease(`${home}/release`);
      const steps = readPage("docs/start/tutorial.md").blocks.filter(({ language }) => language === "sh")
        .map(({ text }) => text).filter((text) => !text.includes("sudo"));
      assert.equal(steps.length, 6);
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
      assert.match(stdout, /^CRITICAL +backup/m, stderr);
      assert.equal(posts.length, 3, `${posts.join("\n")}\n${stderr}`);
      assert.match(posts[1] ?? "", /CRITICAL: backup: /);
      assert.match(posts[2] ?? "", /OK, recovered: backup: /);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});

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
