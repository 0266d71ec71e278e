/** The files that the program leaves on the disk: their permissions, and that it follows no planted links. */
import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor check: files");

const BAD = { kind: "test", parameters: { condition: "critical", output: "down" } };

/** The files of the state, by the ends of their names. */
const STATE = ["", "-wal", "-shm", ".lock"] as const;

test("monitor check: whatever the umask, state, journal and lock are for their owner alone, in a directory of his own", (add) => {
  for (const umask of ["000", "022", "077"]) {
    add(`umask ${umask}`, () =>
      withHarness(async (harness) => {
        harness.writeConfig({ bad: BAD }, {
          state: "made/kept.sqlite",
          report: { path: "page.html" },
          metrics: { path: "monitor.prom" },
          heartbeat: { path: "alive" },
        });
        const program = harness.start(["check"], { shell: `umask ${umask}; exec "$@"` });
        await program.stdout.next(/ bad is critical/);
        const silence = ["silence", "bad", "--for", "1h"];
        const held = umask === "022"
          ? await harness.runHere(silence)
          : await harness.run(silence, { shell: `umask ${umask}; exec "$@"` });
        assert.equal(held.code, 0, held.stderr);
        for (const end of STATE) assert.equal(modeOf(harness, `made/kept.sqlite${end}`), 0o600, end);
        assert.equal(modeOf(harness, "made"), 0o700);
        program.signal("SIGTERM");
        assert.equal((await program.end()).code, 0);
        // Files of other names would be forgotten here: nothing else is made.
        assert.deepEqual(namesIn(harness, "made").filter((name) => !/-(wal|shm)$/.test(name)), [
          "kept.sqlite",
          "kept.sqlite.lock",
        ]);
        // These are readable by others, as far as the umask allows it; they contain no secret.
        const open = 0o666 & ~parseInt(umask, 8);
        for (const name of ["page.html", "monitor.prom", "alive"]) {
          assert.equal(modeOf(harness, name), open, name);
        }
        assert.ok(!namesIn(harness, ".").some((name) => name.endsWith(".tmp")));
      }), umask === "022" ? {} : requiresTools("time"));
  }
});

Deno.test({
  // Only root can give a file to another user.
  ...requiresTools("root"),
  name: "monitor check: a state of another user is rejected, unless root runs it, which keeps the owner",
  fn: async () => {
    const OTHER = 65_534;
    // Another id for the same user, so that the program still reaches the packages of the source.
    const asOther = 'exec unshare --user --map-user=1000 -- "$@"';
    await withHarness(async (harness) => {
      harness.writeConfig({ bad: BAD }, { state: "kept.sqlite" });
      assert.equal((await harness.runHere(["check", "--once"])).code, 2);
      // Any user may write to the pipe: only the owner's id counts.
      Deno.chmodSync(`${harness.directory}/kept.sqlite`, 0o666);
      Deno.chownSync(`${harness.directory}/kept.sqlite`, OTHER, OTHER);
      assert.equal((await harness.runHere(["check", "--once"])).code, 2);
      assert.equal(Deno.statSync(`${harness.directory}/kept.sqlite`).uid, OTHER);
      const before = Deno.readFileSync(`${harness.directory}/kept.sqlite`);
      const { code, stderr } = await harness.run(["check", "--once"], { shell: asOther });
      assert.equal(code, 74, stderr);
      assert.match(stderr, /belongs to another user \(id 65534\)/);
      assert.deepEqual(Deno.readFileSync(`${harness.directory}/kept.sqlite`), before);
    });
  },
});

function modeOf({ directory }: Harness, name: string): number {
  return (Deno.lstatSync(`${directory}/${name}`).mode ?? 0) & 0o7777;
}

function namesIn({ directory }: Harness, name: string): readonly string[] {
  return [...Deno.readDirSync(`${directory}/${name}`)].map((entry) => entry.name).sort();
}

Deno.test("monitor: neither the published page nor monitor report -o overwrites the config or the state", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD });
    const environment = { XDG_STATE_HOME: `${harness.directory}/states` };
    assert.equal((await harness.runHere(["check", "--once"], { environment })).code, 2);
    const [state = ""] = namesIn(harness, "states/monitor").filter((name) => name.endsWith(".sqlite"));
    Deno.symlinkSync("states/monitor", `${harness.directory}/link`);
    const before = Deno.readFileSync(`${harness.directory}/states/monitor/${state}`);
    for (
      const [path, what] of [
        ["monitor.json", "this config itself"],
        [`link/${state}`, "the file of the state"],
        [`states/monitor/${state}.lock`, "the lock file of the state"],
      ] as const
    ) {
      const { code, stderr } = await harness.runHere(["report", "-o", path], { environment });
      assert.equal(code, 64, stderr);
      assert.ok(stderr.includes(`--output is ${what}, expected a file of its own`), stderr);
    }
    harness.writeConfig({ bad: BAD }, { report: { path: `link/${state}` } });
    for (
      const command of [["validate"], ["check", "--once", "--due"], ["report", "-o", "other.html"]]
    ) {
      const { code, stderr } = await harness.runHere(command, { environment });
      assert.equal(code, 78, stderr);
      assert.ok(stderr.includes("report.path: is the file of the state, expected a file of its own"), stderr);
    }
    assert.deepEqual(Deno.readFileSync(`${harness.directory}/states/monitor/${state}`), before);
    harness.writeConfig({ bad: BAD }, { state: "kept.sqlite", report: { path: "other.sqlite-wal" } });
    const { code, stderr } = await harness.runHere(["check", "--once", "--state", "other.sqlite"]);
    assert.equal(code, 78, stderr);
    assert.ok(stderr.includes("report.path: is the -wal file of the state,"), stderr);
  }));
