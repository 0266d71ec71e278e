/**
 * Every recipe runs unchanged. The hosts of the examples are replaced by loopback addresses without a server, so a
 * check may have any result but an error of the config.
 */
import assert from "node:assert/strict";
import { withHarness } from "../life/program.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { readPages } from "./pages.ts";

const RECIPES = readPages().filter(({ path }) => path.startsWith("docs/recipes/")).flatMap((
  { path, blocks },
) =>
  blocks.filter(({ language, role }) => language === "jsonc" && role === "").map((block) => ({
    name: `${path}:${block.line}`,
    ...block,
  }))
);

const test = concurrentTests("docs/recipes: every config runs");

for (const { name, text } of RECIPES) {
  test(name, () =>
    withHarness(async ({ directory, runHere }) => {
      const local = text
        .replaceAll(/https?:\/\/[\w.]*example\.org/g, "http://127.0.0.1:1")
        .replaceAll(/"(?:[\w.]*example\.org|192\.0\.2\.1)"/g, '"127.0.0.1"')
        // check_apt, where it is installed, costs seconds.
        .replaceAll("/usr/lib/nagios/plugins", directory);
      await Deno.writeTextFile(`${directory}/monitor.jsonc`, local);
      const environment = {
        HOOK_TOKEN: "hook-token",
        API_TOKEN: "api-token",
        MAIL_PASSWORD: "mail-password",
        DATABASE_PASSWORD: "database-password",
        NAS_PING_KEY: "nas-ping-key-of-some-length",
      };
      // A state of its own is what few are about, and no database listens at the address either.
      const state = /"state": "(?!postgres)/.test(local) ? [] : ["--state", "none"];
      const args = ["check", "--once", "--no-notify", "--format", "json", ...state];
      const { code, stdout, stderr } = await runHere(args, { environment });
      assert.ok([0, 1, 2, 3].includes(code), `exit code ${code}: ${stderr}`);
      const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly condition: string }[] };
      assert.ok(checks.length >= 1);
    }));
}
