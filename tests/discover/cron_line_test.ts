import assert from "node:assert/strict";
import { readCronLine } from "../../src/discover/discovery.ts";
import { testRows } from "../support/rows.ts";

const BEAT = ["monitor", "beat", "x", "--"];

Deno.test("readCronLine() parses the name, the schedule, and the new line", async (t) => {
  const rows: Readonly<Record<string, readonly [name: string, cron: string, line: string]>> = {
    "30 2 * * * /usr/local/bin/backup --full": [
      "backup",
      "30 2 * * *",
      "30 2 * * * monitor beat x -- /usr/local/bin/backup --full",
    ],
    "*/5 * * * * /opt/poll.py": ["poll", "*/5 * * * *", "*/5 * * * * monitor beat x -- /opt/poll.py"],
    "* * 1 1 * /bin/once": ["once", "* * 1 1 *", "* * 1 1 * monitor beat x -- /bin/once"],
    "0 0 * * 0 cd /srv && ./dump | gzip > d.gz": [
      "dump",
      "0 0 * * 0",
      "0 0 * * 0 monitor beat x -- sh -c 'cd /srv && ./dump | gzip > d.gz'",
    ],
    "0 0 1 * * LANG=C nice /bin/it's": [
      "it_s",
      "0 0 1 * *",
      "0 0 1 * * monitor beat x -- sh -c 'LANG=C nice /bin/it'\\''s'",
    ],
    "0 0 * * * mail -s a@b%hello%": ["mail", "0 0 * * *", "0 0 * * * monitor beat x -- mail -s a@b%hello%"],
    "0 0 29 2 * /bin/leap": ["leap", "0 0 29 2 *", "0 0 29 2 * monitor beat x -- /bin/leap"],
  };
  await testRows(t, rows, (expected, line) => {
    const job = readCronLine(line);
    assert.deepEqual([job?.name, job?.cron, job?.lineBehind(BEAT)], expected);
  });
});

Deno.test("readCronLine() sets a longer grace for a job that runs rarely", () => {
  const wordsOf = (line: string): readonly string[] => readCronLine(line)?.words ?? [];
  assert.deepEqual(wordsOf("0 */3 * * * /bin/x"), ["job", "0 */3 * * *"]);
  assert.deepEqual(wordsOf("0 1 * * * /bin/x"), ["job", "0 1 * * *", "grace=2 hours"]);
  assert.deepEqual(wordsOf("@Midnight /bin/x"), ["job", "0 0 * * *", "grace=2 hours"]);
});

Deno.test("readCronLine() parses the user of a line in /etc/cron.d", () => {
  const job = readCronLine("5 4 * * *\twww-data /usr/bin/php cron.php", { hasUser: true });
  assert.equal(job?.name, "php");
  assert.equal(job?.lineBehind(BEAT), "5 4 * * * www-data monitor beat x -- /usr/bin/php cron.php");
});

Deno.test("readCronLine() returns null for other targets", () => {
  const others = [
    "https://example.org/",
    "/",
    "a b c d e f",
    "8080",
    "",
    "# 0 0 * * * x",
    "PATH=/bin:/usr/bin",
  ];
  assert.deepEqual(others.filter((text) => readCronLine(text) !== null), []);
});

Deno.test("readCronLine() rejects a schedule without times", () => {
  for (const line of ["@reboot /bin/x", "0 0 30 2 * /bin/x", "99 * * * * /bin/x"]) {
    assert.throws(() => readCronLine(line), { name: "CronLineError", message: /has no times/ }, line);
  }
});
