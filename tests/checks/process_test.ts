import assert from "node:assert/strict";
import type { ProcessParameters } from "../../src/domain/generated/config.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createHost } from "../../src/system/deno_system.ts";
import { processKind } from "../../src/checks/process.ts";
import { startChild, tool } from "../../testing/tools.ts";
import { testCheck } from "../support/checks.ts";
import { endOf } from "../support/fake_commands.ts";
import { observeCheck, problemTexts } from "../support/observe_check.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

const LIMITS = { count: { criticalBelow: 1 }, age: {}, memory: {} } as const;

/** Observes as if `ps` had printed some lines. */
function observePrinted(
  lines: readonly string[],
  parameters: Partial<ProcessParameters>,
  system: Partial<ObserveContext["system"]> = {},
  signal?: AbortSignal,
): Promise<CheckResult> {
  const printed = system.platform === "darwin" ? lines : lines.map((line) => withControlGroup(line));
  const processes = { run: () => Promise.resolve(endOf(printed.join("\n"))) };
  return observeCheck({ kind: "process", parameters: { ...LIMITS, ...parameters } }, {
    system: { processes, ...system },
    ...signal !== undefined && { signal },
  });
}

/** Adds what only `ps` of Linux prints: the control group, and the id once more. */
function withControlGroup(line: string, cgname = "-"): string {
  return line.replace(
    /^ *(\d+)( +\S+){5} +(?:\d+ \S+ +)?/,
    (head, id) => `${head}${cgname.padEnd(128)} ${id.padStart(7)} `,
  );
}

const LINES = [
  "    1     0     1  2-03:04:05  10240 Ss   init",
  "  100     1   100       00:09   2048 S    nginx",
  "  101   100   100    01:00:00   4096 S    nginx",
  "  102   100   100       00:00      0 Z    nginx <defunct>",
  "  103     1   103       10:00    512 S    a very long pro",
  "  104     1   104       10:00    512 S    /usr/libexec/agent",
  "",
  "  105     1   105       10:00    512 S     leading spaces",
  "  106     1   106 441077234-00:18:40    512 S    just_started",
];

Deno.test("process counts the matching processes, and compares number, age and memory with thresholds", async (t) => {
  const table = `
    a name, without its zombie | name=nginx | ok: count 2; age min 9 s; age max 1 h; memory 6.29 MB
    too many      | name=nginx count.warningAbove=1 | \
      warning: count 2, warning above 1; age min 9 s; age max 1 h; memory 6.29 MB
    a young one   | name=nginx age.warningBelowMs=60000 | \
      warning: count 2; age min 9 s, warning below 1 min; age max 1 h; memory 6.29 MB
    an old one    | name=nginx age.criticalAboveMs=600000 | \
      critical: count 2; age min 9 s; age max 1 h, critical above 10 min; memory 6.29 MB
    much memory   | name=nginx memory.warningAboveBytes=6e6 | \
      warning: count 2; age min 9 s; age max 1 h; memory 6.29 MB, warning above 6 MB
    a name longer than the kernel keeps | name="a very long process name" | \
      ok: count 1; age min 10 min; age max 10 min; memory 524 kB
    an age below 0 | name=just_started age.criticalAboveMs=600000 | \
      ok: count 1; age min 0 s; age max 0 s; memory 524 kB
    a name with a slash, which a process of Linux may give itself | name=agent | critical: count 0, critical below 1
    a pattern     | pattern=^(init|nginx)$ | ok: count 3; age min 9 s; age max 2 d 3 h; memory 16.8 MB`;
  await testTable(t, table, async (_, parameters, expected) => {
    const { condition, output } = await observePrinted(LINES, fieldsOf(parameters));
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("process compares the name of the executable where ps prints its path", async () => {
  const { output } = await observePrinted(LINES, { name: "agent" }, { platform: "darwin" });
  assert.equal(output, "count 1; age min 10 min; age max 10 min; memory 524 kB");
});

Deno.test("process lists what a pattern matched, without the arguments", async () => {
  const lines = Array.from({ length: 12 }, (_, id) => ` ${id + 1} 0 1 00:01 1 S /bin/job${id} --password=x`);
  const { detail } = await observePrinted(lines, { pattern: "job" });
  assert.match(detail, /^1 "\/bin\/job0"\n2 "\/bin\/job1"\n/);
  assert.match(detail, /\nand 2 more$/);
});

Deno.test("process leaves out the monitor, what it started, and the commands that started it", async (t) => {
  const monitor = "monitor try --pattern nginx";
  const lines = (wrapper: string) => [
    "    1     0     1 10:00 512 S    /sbin/init nginx",
    "   10     1    10 10:00 512 S    cron -f nginx",
    `   11    10    11 10:00 512 S    ${wrapper}`,
    `   12    11    12 10:00 512 S    sudo ${monitor}`,
    `   13    12    12 10:00 512 S    ${monitor}`,
    "   14    13    14 10:00 512 S    sh check_nginx",
    "   15    14    15 10:00 512 S    check_nginx",
    "   16     1    16 10:00 512 S    nginx: master",
  ];
  const observe = (parameters: Partial<ProcessParameters>, wrapper: string) =>
    observePrinted(lines(wrapper), parameters, { host: { ...createHost(), processId: 13 } });
  await t.step("with a pattern", async () => {
    const { detail } = await observe({ pattern: "nginx" }, `bwrap --ro-bind nginx -- sudo ${monitor}`);
    assert.equal(detail, '1 "/sbin/init"\n10 "cron"\n16 "nginx:"');
  });
  await t.step("with a pattern, unless it is something else", async () => {
    const { detail } = await observe({ pattern: "nginx" }, "nginx-supervisor");
    assert.equal(detail, '1 "/sbin/init"\n10 "cron"\n11 "nginx-supervisor"\n16 "nginx:"');
  });
  await t.step("with a name, without the commands that started it", async () => {
    const countOf = async (name: string) => (await observe({ name }, "bash")).metrics["count"];
    assert.deepEqual([await countOf("check_nginx"), await countOf("bash")], [0, 1]);
  });
});

Deno.test("process finds the systemd units of the processes", async (t) => {
  const table = `
    a service          | 0::/system.slice/nginx.service                  | nginx.service
    an instance        | 0::/system.slice/system-getty.slice/getty@tty1.service | getty@tty1.service
    what is below it   | 0::/system.slice/pg@15-main.service/worker 1    | pg@15-main.service
    a container        | 0::/system.slice/docker-0fab.scope/init         | docker-0fab.scope
    units of a container | 0::/machine.slice/systemd-nspawn@a.service/payload/system.slice/b.service | systemd-nspawn@a.service
    a session          | 0::/user.slice/user-1000.slice/session-3.scope  | session-3.scope
    a unit of a user   | 0::/user.slice/user-1000.slice/user@1000.service/app.slice/sync.service | user@1000.service/sync.service
    version 1          | systemd:/system.slice/nginx.service,4:memory:/other.service | nginx.service
    both versions      | 4:memory:/other.service,0::/system.slice/nginx.service | nginx.service
    from a container   | 0::/../../system.slice/nginx.service            | nginx.service
    a cut name         | 0::/system.slice/nginx.servic                   |
    no unit            | 0::/lxc.payload.a/system.slice/nginx.service    |
    another controller | 4:memory:/system.slice/nginx.service            |
    none               | -                                               | `;
  await testTable(t, table, async (_, cgname, unit) => {
    const lines = LINES.map((line) => withControlGroup(line, cgname));
    const processes = { run: () => Promise.resolve(endOf(lines.join("\n"))) };
    const { units, output } = await observePrinted([], { name: "nginx" }, { processes });
    assert.deepEqual(units, unit === "" ? [] : [unit]);
    assert.match(output, /^count 2; /);
  });
});

/** Links of `/proc`; those of other processes are not readable. */
function processFiles(links: Readonly<Record<number, string | null>>): ObserveContext["system"]["files"] {
  return {
    ...createMemorySystem().files,
    realPath: (path) => Promise.resolve(path.replace(/^\/sbin/, "/usr/sbin")),
    readLink: (path) => {
      const link = links[Number(path.split("/")[2])];
      if (link === undefined) return Promise.reject(new Deno.errors.PermissionDenied("os error 13"));
      return link === null ? Promise.reject(new Deno.errors.NotFound()) : Promise.resolve(link);
    },
  };
}

Deno.test("process compares the executable, and is unknown if those that it may not read could decide", async (t) => {
  const NGINX = "/usr/sbin/nginx";
  const named = { name: "nginx", executable: "/sbin/nginx" };
  const table = `
    one has only the name      | | 100=nginx 101=/tmp/nginx | ok: count 1; age min 9 s; age max 9 s; memory 2.1 MB
    one was updated since      | | 100="/usr/sbin/nginx (deleted)" 101=null | ok: count 1; age min 9 s; age max 9 s; memory 2.1 MB
    one has ended              | | 100=null 101=null | critical: count 0, critical below 1
    all are unreadable         | | | unknown: UNREAD 2 processes
    one is, and one is enough  | | 101=nginx | \
      ok: count at least 1; age min at most 1 h; age max at least 1 h; memory at least 4.19 MB; UNREAD 1 process
    one is, and no other runs  | | 100=/tmp/nginx | unknown: UNREAD 1 process
    which may be too many      | count.warningAbove=1 | 100=nginx | unknown: UNREAD 1 process
    too many already           | count.criticalAbove=0 | 100=nginx | critical: count at least 1, critical above 0; \
      age min at most 9 s; age max at least 9 s; memory at least 2.1 MB; UNREAD 1 process
    which may be old           | age.criticalAboveMs=60000 | 100=nginx | unknown: UNREAD 1 process
    the executable alone       | name=null executable=/usr/sbin/nginx | 1=/sbin/init 100=nginx | ok: count at least 1; \
      age min at most 9 s; age max at least 9 s; memory at least 2.1 MB; UNREAD 5 processes`;
  await testTable(t, table, async (_, parameters, links, expected) => {
    const { name, ...others } = { ...named, ...fieldsOf<{ readonly name?: string | null }>(parameters) };
    const read = fieldsOf<Record<number, string | null>>(links.replaceAll("=nginx", `=${NGINX}`));
    const files = processFiles(read);
    const result = await observePrinted(LINES, { ...others, ...name !== null && { name } }, { files });
    const unread = (_: string, count: string) => `cannot read the executable of ${count}: permission denied`;
    assert.equal(`${result.condition}: ${result.output}`, expected.replace(/UNREAD (\d+ \w+)/, unread));
  });
  await t.step("without metrics of numbers that are not known", async () => {
    const ofAll = await observePrinted(LINES, named, { files: processFiles({ 100: NGINX, 101: NGINX }) });
    assert.equal(ofAll.metrics["count"], 2);
    const { metrics } = await observePrinted(LINES, named, { files: processFiles({ 101: NGINX }) });
    assert.deepEqual(metrics, {});
  });
  await t.step("with the reason of the first error", async () => {
    const readLink = () => Promise.reject(new Error("ELOOP: too many links, readlink '/proc/100/exe'"));
    const { output } = await observePrinted(LINES, named, { files: { ...processFiles({}), readLink } });
    assert.equal(output, "cannot read the executable of 2 processes: too many links");
  });
  await t.step("until the run is aborted", async () => {
    const abort = new AbortController();
    const read: string[] = [];
    const readLink = (path: string) => {
      read.push(path);
      abort.abort(new Error("Stopped"));
      return Promise.resolve(NGINX);
    };
    const files = { ...processFiles({}), readLink };
    await assert.rejects(observePrinted(LINES, named, { files }, abort.signal), /Stopped/);
    assert.deepEqual(read, ["/proc/100/exe"]);
  });
  await t.step("elsewhere than on Linux", async () => {
    const { condition, output } = await observePrinted(LINES, named, { platform: "darwin" });
    assert.deepEqual([condition, output], ["unknown", "only Linux names the executable of a process"]);
  });
});

Deno.test("process compares the user", async (t) => {
  const lines = [
    "  100     1   100       00:09   2048 S        0 root      nginx",
    "  101     1   101       00:09   2048 S       33 www-data  nginx",
    "  102     1   102       00:09   2048 S     1000 mallory   nginx",
  ];
  for (const [user, count] of [["root", 1], ["33", 1], ["www-data", 1], ["nginx", 0]] as const) {
    await t.step(user, async () => {
      assert.equal((await observePrinted(lines, { name: "nginx", user })).metrics["count"], count);
    });
  }
  // The owner of a control group may give it any name.
  for (const name of ["x 102 0 root nginx", "x 102 zzz", "x 102"]) {
    await t.step(`with the control group ${name}`, async () => {
      const hostile = lines.map((line) => withControlGroup(line, line.includes("mallory") ? name : "-"));
      const processes = { run: () => Promise.resolve(endOf(hostile.join("\n"))) };
      const { metrics } = await observePrinted([], { name: "nginx", user: "root" }, { processes });
      assert.equal(metrics["count"], 1);
    });
  }
});

Deno.test("process calls no count ok for a user that does not exist", async (t) => {
  const missing = "error: user name does not exist\n\nUsage:\n ps [options]\n";
  const said = 'user "ngnix": "/usr/bin/ps" failed with exit code 1: error: user name does not exist';
  const rows: Rows<[user: string, stderr: string, expected: string]> = {
    "where none may run": ["ngnix", missing, `unknown: count 0; ${said}`],
    "that exists and runs nothing": ["ngnix", "", "ok: count 0"],
    "that is a number": ["1234", missing, "ok: count 0"],
  };
  await testRows(t, rows, async ([user, stderr, expected]) => {
    const list = withControlGroup("  100     1   100       00:09   2048 S        0 root      nginx");
    const processes: ObserveContext["system"]["processes"] = {
      run: ({ arguments: words }) =>
        Promise.resolve(words.includes("-A") ? endOf(list) : endOf("", { code: 1, stderr })),
    };
    const { condition, output } = await observePrinted([], { user, count: { criticalAbove: 0 } }, {
      processes,
    });
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("process reads a pid file", async (t) => {
  await using temporary = await tempDirectory();
  const pidFile = `${temporary.path}/own.pid`;
  const rows: Rows<[text: string | null, expected: RegExp]> = {
    "of a process that runs": ["101\n", /^ok: count 1; age min 1 h/],
    "of a process that has gone": ["4711\n", /^critical: count 0, critical below 1$/],
    "that does not exist": [null, /^critical: count 0, critical below 1$/],
    "with other text": ["pid 101", /^unknown: .*: its first line is not a process id$/],
    "that is huge": ["1".repeat(5000), /^unknown: .*: it has 5000 bytes, expected at most 4096$/],
  };
  await testRows(t, rows, async ([text, expected]) => {
    await (text === null ? Deno.remove(pidFile) : Deno.writeTextFile(pidFile, text));
    const { condition, output } = await observePrinted(LINES, { pidFile });
    assert.match(`${condition}: ${output}`, expected);
  });
  await t.step("along with the name of another process", async () => {
    await Deno.writeTextFile(pidFile, "1");
    assert.equal((await observePrinted(LINES, { pidFile, name: "nginx" })).condition, "critical");
  });
});

Deno.test("process finds processes of this machine, but not those that the monitor started", async () => {
  const mark = crypto.randomUUID();
  const child = startChild(tool("sh"), ["-c", "read line", mark], {
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  });
  try {
    const parameters = { ...LIMITS, pattern: mark, count: { warningAbove: 1, criticalBelow: 1 } };
    const observe = (processId: number) =>
      observeCheck({ kind: "process", parameters }, { system: { host: { ...createHost(), processId } } });
    assert.equal((await observe(Deno.pid)).metrics["count"], 0);
    for (
      const [executable, count] of Deno.build.os === "linux"
        ? [[tool("sh"), 1], ["/bin/true", 0]] as const
        : []
    ) {
      const own = { ...parameters, executable, user: String(Deno.uid()) };
      const seen = await observeCheck({ kind: "process", parameters: own }, {
        system: { host: { ...createHost(), processId: -1 } },
      });
      assert.equal(seen.metrics["count"], count, seen.output);
    }
    const { condition, metrics, output } = await observe(-1);
    assert.deepEqual([condition, metrics["count"]], ["ok", 1], output);
    assert.ok((metrics["memory_bytes"] ?? 0) > 0);
    assert.ok((metrics["age_min_seconds"] ?? -1) >= 0);
    assert.equal(metrics["count_critical_below"], 1);
  } finally {
    await child.stdin.close();
    await child.status;
  }
});

Deno.test("process is unknown with the reason if it cannot list processes", async (t) => {
  const real = (parameters: Partial<ProcessParameters>) =>
    observeCheck({ kind: "process", parameters: { ...LIMITS, ...parameters } });
  const table = `
    a missing command       | name=init command=/does/not/ps | ^cannot start "/does/not/ps":
    a command that fails    | name=init command=/bin/false   | ^"/bin/false" failed with exit code 1$
    a command that prints nothing of a process | name=init command=/bin/true | ^"/bin/true" listed no processes$
    a user that the machine does not have | user=no-such-user count.criticalAbove=0 | \
      ^count 0; user "no-such-user": .*ps" failed with exit code 1: `;
  await testTable(t, table, async (_, parameters, expected) => {
    const { condition, output } = await real(fieldsOf(parameters));
    assert.equal(condition, "unknown");
    assert.match(output, new RegExp(expected));
  });
  await t.step("a line that is no process", async () => {
    const { condition, output } = await observePrinted([...LINES, "garbage"], { name: "nginx" });
    assert.equal(
      `${condition}: ${output}`,
      'unknown: "/usr/bin/ps" printed a line that is no process: "garbage"',
    );
  });
  await t.step("endless command lines and a large pattern", async () => {
    const lines = Array.from({ length: 100 }, (_, id) => ` ${id} 0 1 00:01 1 S ${"a".repeat(100_000)}`);
    const { condition, output } = await observePrinted(lines, { pattern: "(a?){100}b" });
    assert.equal(condition, "unknown");
    assert.match(output, /^command lines have 10000000 characters, pattern searches at most \d+$/);
  });
  await t.step("Windows", async () => {
    const { output } = await observePrinted(LINES, { name: "x" }, { platform: "windows" });
    assert.equal(output, "Windows has no ps, which lists the processes");
  });
});

Deno.test("process: one of name, pattern and pid_file is required, and name excludes pattern", () => {
  const errorsOf = (parameters: Partial<ProcessParameters>) =>
    problemTexts(
      processKind.errors?.({ ...testCheck("ok"), kind: "process", parameters: { ...LIMITS, ...parameters } }),
    );
  assert.deepEqual(errorsOf({}), [
    ': selects no process, expected "name", "pattern", "executable", "pid_file" or "user"',
  ]);
  assert.deepEqual(errorsOf({ name: "a", pattern: "b" }), [
    'pattern: cannot be used with "name", expected one of them',
  ]);
  assert.deepEqual(errorsOf({ name: "a", pidFile: "/b" }), []);
});
