/**
 * The recipes for checks with other programs, run by the real `monitor check` against stand-ins that print what the real
 * programs printed. Those of Debian run at the end.
 */
import assert from "node:assert/strict";
import { type Harness, withHarness } from "../life/program.ts";
import { parsePage, readPage } from "./pages.ts";
import { runChild, startChild, testWith, tool } from "../../testing/tools.ts";
import { provided } from "../support/concurrent_tests.ts";

const testWithHarness = provided(withHarness, Deno.test);

/** A check as it is written in a config. */
interface WrittenCheck {
  readonly kind: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Returns the checks of the recipe with a heading, by their names. */
function checksOf(page: string, heading: string): Readonly<Record<string, WrittenCheck>> {
  const section = readPage(`docs/recipes/${page}.md`).text.split(/^## /m)
    .find((section) => section.startsWith(`${heading}\n`));
  assert.ok(section !== undefined, `docs/recipes/${page}.md has no heading "${heading}"`);
  const [block] = parsePage(section).blocks;
  return JSON.parse(block?.text ?? "{}").checks;
}

/** Runs checks once. Returns the condition and the output of each, by its name. */
async function runChecks(
  { directory, writeConfig, runHere }: Pick<Harness, "directory" | "writeConfig" | "runHere">,
  checks: Readonly<Record<string, WrittenCheck>>,
): Promise<ReadonlyMap<string, string>> {
  writeConfig(checks);
  const environment = { PATH: `${directory}:/usr/local/bin:/usr/bin:/bin` };
  const args = ["check", "--once", "--state", "none", "--format", "json"];
  const { stdout, stderr } = await runHere(args, { environment });
  assert.equal(stderr, "");
  const document: { readonly checks: readonly Readonly<Record<"name" | "condition" | "output", string>>[] } =
    JSON.parse(stdout);
  return new Map(document.checks.map(({ name, condition, output }) => [name, `${condition}: ${output}`]));
}

/** What a program prints, and the result of the check. */
interface Case {
  readonly stdout?: string;
  readonly stderr?: string;
  /** @default 0 */
  readonly code?: number;
  readonly expected: string | RegExp;
}

interface Recipe {
  readonly page: string;
  readonly heading: string;
  /** The name of the check in the recipe. */
  readonly check: string;
  readonly cases: readonly Case[];
}

const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;
const snapshot = (hours: number): string =>
  `[{"time":"${
    new Date(hoursAgo(hours + 0.5)).toISOString()
  }","tree":"ab95","paths":["/srv"],"hostname":"vm"}]`;
const archive = (hours: number): string => `${Math.floor(hoursAgo(hours + 0.5) / 1000)}`;
const replica = ({ io = "Yes", sql = "Yes", behind = "0", prefix = "Replica", source = "Source" }): string =>
  [
    "*************************** 1. row ***************************",
    `              ${prefix}_IO_State: Waiting for source to send event`,
    `            ${prefix}_IO_Running: ${io}`,
    `           ${prefix}_SQL_Running: ${sql}`,
    `        Seconds_Behind_${source}: ${behind}`,
    `     ${prefix}_SQL_Running_State: Replica has read all relay log`,
  ].join("\n");

/** Recorded with Playwright 1.65.1, monitoring-plugins 2.3.3, NUT 2.8.0, restic 0.14, Borg 1.2.4; else from the documentation. */
const RECIPES: readonly Recipe[] = [{
  page: "infrastructure",
  heading: "How do I check a device by SNMP?",
  check: "switch port 1",
  cases: [
    { stdout: "SNMP OK - 1 | iso.3.6.1.2.1.2.2.1.8.1=1;;1:1 ", expected: "ok: SNMP OK - 1" },
    {
      stdout: "SNMP WARNING - *738* | iso.3.6.1.4.1.2021.10.1.5.1=738;1;10000 ",
      code: 1,
      expected: "warning: SNMP WARNING - *738*",
    },
    {
      stdout: "CRITICAL - Plugin timed out while executing system call",
      code: 2,
      expected: "critical: CRITICAL - Plugin timed out while executing system call",
    },
    {
      stdout: "No valid data returned (No Such Instance currently exists at this OID)",
      code: 3,
      expected: "unknown: No valid data returned (No Such Instance currently exists at this OID)",
    },
    { code: 127, expected: "unknown: exit code 127 (0 to 3 are conditions), no output" },
  ],
}, {
  page: "infrastructure",
  heading: "How do I check an LDAP server?",
  check: "ldap",
  cases: [
    {
      stdout: "LDAP OK - 0.020 seconds response time|time=0.019928s;1.000000;3.000000;0.000000",
      expected: "ok: LDAP OK - 0.020 seconds response time",
    },
    {
      stdout: "Could not bind to the LDAP server",
      code: 2,
      expected: "critical: Could not bind to the LDAP server",
    },
  ],
}, {
  page: "infrastructure",
  heading: "How do I check an uninterruptible power supply?",
  check: "ups",
  cases: [
    {
      stdout: "UPS OK - Status=Online Utility=230.0V Batt=100.0% Load=20.0% |voltage=230000mV;;;0;",
      expected: "ok: UPS OK - Status=Online Utility=230.0V Batt=100.0% Load=20.0%",
    },
    {
      stdout:
        "UPS WARNING - Status=On Battery, Discharging Utility=0.0V Batt=90.0% Load=20.0% |load=20%;;;0;100",
      code: 1,
      expected: "warning: UPS WARNING - Status=On Battery, Discharging Utility=0.0V Batt=90.0% Load=20.0%",
    },
  ],
}, {
  page: "backups",
  heading: "How do I check the last snapshot of restic?",
  check: "restic",
  cases: [
    { stdout: snapshot(5), expected: "ok: last snapshot 5 hours ago" },
    {
      stdout: snapshot(30),
      expected: "warning: value is 30, warning outside 26: last snapshot 30 hours ago",
    },
    {
      stdout: snapshot(50),
      expected: "critical: value is 50, critical outside 48: last snapshot 50 hours ago",
    },
    { stdout: "[]", expected: "critical: no snapshot" },
    { stdout: "null", expected: "critical: no snapshot" },
    { stdout: '[{"time":"soon"}]', expected: /^unknown: date: invalid date/ },
    {
      stderr: "Fatal: wrong password or no key found",
      code: 1,
      expected: "critical: Fatal: wrong password or no key found",
    },
  ],
}, {
  page: "backups",
  heading: "How do I check the last archive of Borg?",
  check: "borg",
  cases: [
    { stdout: archive(5), expected: "ok: last archive 5 hours ago" },
    { stdout: archive(30), expected: "warning: value is 30, warning outside 26: last archive 30 hours ago" },
    {
      stdout: archive(50),
      expected: "critical: value is 50, critical outside 48: last archive 50 hours ago",
    },
    { stdout: "", expected: "critical: no archive" },
    {
      stderr:
        "passphrase supplied in BORG_PASSPHRASE, by BORG_PASSCOMMAND or via BORG_PASSPHRASE_FD is incorrect.",
      code: 2,
      expected:
        "critical: passphrase supplied in BORG_PASSPHRASE, by BORG_PASSCOMMAND or via BORG_PASSPHRASE_FD is incorrect.",
    },
  ],
}, {
  page: "backups",
  heading: "How do I verify a repository?",
  check: "restic_check",
  cases: [
    {
      stdout: "create exclusive lock for repository\nload indexes\ncheck all packs\n\nno errors were found",
      expected: "ok: create exclusive lock for repository",
    },
    {
      stdout: "create exclusive lock for repository\nload indexes",
      stderr: "Fatal: repository contains errors",
      code: 1,
      expected: "critical: create exclusive lock for repository",
    },
  ],
}, {
  page: "websites",
  heading: "How do I check a website with Playwright?",
  check: "checkout",
  cases: [
    {
      stdout: '<testsuites failures="0">\n<testcase name="logs in" time="1.2"></testcase>\n</testsuites>',
      expected: "ok: 1 test passed",
    },
    {
      stdout: Deno.readTextFileSync(new URL("../checks/testdata/playwright.xml", import.meta.url)),
      code: 1,
      expected: /^critical: 1 of 3 tests failed: a\.spec\.js: shop \u203a pays: expect\(received\)/,
    },
    {
      stdout:
        '<testsuites id="" name="" tests="0" failures="0" skipped="0" errors="0" time="0.6">\n</testsuites>',
      stderr: "Error: No tests found",
      code: 1,
      expected: "unknown: exit code 1, no test ran: Error: No tests found",
    },
  ],
}, {
  page: "databases",
  heading: "How do I check the replication lag of MySQL?",
  check: "replication",
  cases: [
    { stdout: replica({}), expected: "ok: IO_Running: Yes" },
    { stdout: replica({ prefix: "Slave", source: "Master" }), expected: "ok: IO_Running: Yes" },
    {
      stdout: replica({ behind: "31" }),
      expected: "warning: value is 31, warning outside 30: IO_Running: Yes",
    },
    {
      stdout: replica({ prefix: "Slave", source: "Master", behind: "301" }),
      expected: "critical: value is 301, critical outside 300: IO_Running: Yes",
    },
    {
      stdout: replica({ io: "Connecting", behind: "NULL" }),
      expected: /^critical: output does not match .*Connecting$/,
    },
    { stdout: replica({ sql: "No", behind: "NULL" }), expected: /^critical: output does not match / },
    { stdout: "", expected: /^critical: output does not match / },
    {
      stderr:
        "ERROR 2002 (HY000): Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)",
      code: 1,
      expected: /^critical: .*ERROR 2002/,
    },
  ],
}, {
  page: "databases",
  heading: "How do I check the replication lag of MongoDB?",
  check: "replication",
  cases: [
    { stdout: "0 s behind", expected: "ok: 0 s behind" },
    { stdout: "31.5 s behind", expected: "warning: value is 31.5, warning outside 30: 31.5 s behind" },
    { stdout: "301 s behind", expected: "critical: value is 301, critical outside 300: 301 s behind" },
    { stdout: "no primary", code: 2, expected: /^critical: .*no primary$/ },
    {
      stderr: "MongoServerSelectionError: connect ECONNREFUSED 127.0.0.1:27017",
      code: 1,
      expected: /^critical: .*connect ECONNREFUSED 127\.0\.0\.1:27017$/,
    },
  ],
}];

testWithHarness(
  "docs/recipes: the checks with other programs have the conditions of what these print",
  async (harness) => {
    const { directory } = harness;
    const checks: Record<string, WrittenCheck> = {};
    const expected: Record<string, string | RegExp> = {};
    harness.writeScript("stand_in", '. "$DIRECTORY/$MONITOR_CHECK.sh"');
    const programs = "check_snmp check_ldap check_ups restic borg npx psql mysql mongosh";
    for (const name of programs.split(" ")) await Deno.symlink("stand_in", `${directory}/${name}`);
    for (const { page, heading, check, cases } of RECIPES) {
      const written = checksOf(page, heading)[check];
      assert.ok(written !== undefined);
      const text = JSON.stringify(written).replaceAll("/usr/lib/nagios/plugins/", `${directory}/`);
      for (const [index, { stdout = "", stderr = "", code = 0, expected: outcome }] of cases.entries()) {
        const name = `${page}_${check}_${RECIPES.findIndex((one) => one.heading === heading)}_${index}`
          .replaceAll(" ", "_");
        const local = JSON.parse(text);
        const environment = { ...local.parameters.environment, DIRECTORY: directory };
        checks[name] = { ...local, parameters: { ...local.parameters, environment } };
        expected[name] = outcome;
        const print = (text: string): string =>
          text === "" ? ":" : `printf '%s\\n' '${text.replaceAll("'", String.raw`'\''`)}'`;
        const script = `${print(stdout)}\n${print(stderr)} >&2\nexit ${code}\n`;
        await Deno.writeTextFile(`${directory}/${name}.sh`, script);
      }
    }
    compare(await runChecks(harness, checks), expected);
  },
);

testWithHarness("docs/recipes: a Prometheus query is critical unless its result is 1", async (harness) => {
  // The responses of Prometheus 2.42 to instant queries, whose values are texts.
  const responses: Readonly<
    Record<string, readonly [body: string, status: number, expected: string | RegExp]>
  > = {
    well: [vector('{"metric":{},"value":[1795738879.1,"1"]}'), 200, "ok: status is 200"],
    down: [vector('{"metric":{},"value":[1795738879.1,"0"]}'), 200, /^critical: .*is "0", expected "1"/],
    missing: [vector(""), 200, /^critical: .* finds nothing, expected "1"$/],
    wrong: [
      '{"status":"error","errorType":"bad_data","error":"parse error"}',
      400,
      /^critical: status is 400/,
    ],
    html: ["<html>starting</html>", 200, /^critical: /],
  };
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const [, name = "", ...path] = pathname.split("/");
    assert.deepEqual(path, ["api", "v1", "query"]);
    assert.ok(["min(up)", "max(node_load1)<bool 8"].includes(searchParams.get("query") ?? ""));
    const [body, status] = responses[name] ?? ["", 404];
    return new Response(body, { status, headers: { "content-type": "application/json" } });
  });
  const written = checksOf("infrastructure", "How do I check the result of a Prometheus query?");
  const checks: Record<string, WrittenCheck> = {};
  const expected: Record<string, string | RegExp> = {};
  for (const [check, text] of Object.entries(written)) {
    for (const [name, [, , outcome]] of Object.entries(responses)) {
      const origin = `http://127.0.0.1:${server.addr.port}/${name}`;
      checks[`${check}_${name}`] = JSON.parse(
        JSON.stringify(text).replace("http://localhost:9090", origin),
      );
      expected[`${check}_${name}`] = outcome;
    }
  }
  compare(await runChecks(harness, checks), expected);
});

const vector = (result: string): string =>
  `{"status":"success","data":{"resultType":"vector","result":[${result}]}}`;

/** In the form of the kernel (drivers/md/md.c). */
const mdstat = (array: string): string => `Personalities : [raid1]\n${array}unused devices: <none>\n`;
const RAID: Readonly<Record<string, readonly [mdstat: string, expected: RegExp]>> = {
  well: [
    mdstat("md0 : active raid1 sdb1[1] sda1[0]\n      976630464 blocks super 1.2 [2/2] [UU]\n\n"),
    /^ok: /,
  ],
  degraded: [
    mdstat("md0 : active raid1 sda1[0]\n      976630464 blocks super 1.2 [2/1] [U_]\n\n"),
    /^critical: /,
  ],
  another: [
    mdstat(
      "md0 : active raid1 sdb1[1] sda1[0]\n      9 blocks [2/2] [UU]\n\nmd1 : active raid5\n   9 blocks [3/2] [_UU]\n\n",
    ),
    /^critical: /,
  ],
  inactive: [mdstat("md0 : inactive sda1[0](S)\n      976630464 blocks super 1.2\n\n"), /^critical: /],
  missing: [mdstat(""), /^critical: /],
};

testWithHarness(
  "docs/recipes: a RAID without a failed disk is ok, and a timer that ran lately",
  async (harness) => {
    const { directory } = harness;
    const checks: Record<string, WrittenCheck> = {};
    const expected: Record<string, string | RegExp> = {};
    const { raid } = checksOf("infrastructure", "How do I check a software RAID?");
    for (const [name, [text, outcome]] of Object.entries(RAID)) {
      const path = `${directory}/${name}`;
      await Deno.writeTextFile(path, text);
      assert.ok(raid !== undefined);
      checks[`raid_${name}`] = { ...raid, parameters: { ...raid.parameters, path } };
      expected[`raid_${name}`] = outcome;
    }
    const timer = checksOf("services", "How do I check a systemd timer?");
    const certbot = checksOf("certificates", "How do I check the renewals of Certbot?");
    harness.writeScript("systemctl_well", systemctl("active", "waiting", "success"));
    harness.writeScript("systemctl_failed", systemctl("failed", "failed", "exit-code"));
    for (const [name, { kind, parameters }] of Object.entries({ ...timer, ...certbot })) {
      for (const [state, outcome] of [["well", /^ok: /], ["failed", /^critical: .* is failed/]] as const) {
        if (kind !== "systemd_unit") continue;
        const command = `${directory}/systemctl_${state}`;
        checks[`${name}_${state}`] = { kind, parameters: { ...parameters, command } };
        expected[`${name}_${state}`] = outcome;
      }
    }
    const start = timer["cleanup_start"];
    assert.ok(start !== undefined);
    for (const [hours, outcome] of [[1, /^ok: /], [30, /^warning: /], [50, /^critical: /]] as const) {
      const path = `${directory}/stamp_${hours}`;
      await Deno.writeTextFile(path, "");
      await Deno.utime(path, new Date(hoursAgo(hours)), new Date(hoursAgo(hours)));
      checks[`stamp_${hours}`] = { ...start, parameters: { ...start.parameters, path } };
      expected[`stamp_${hours}`] = outcome;
    }
    assert.equal(Object.keys(expected).length, 5 + 8 + 3);
    compare(await runChecks(harness, checks), expected);
  },
);

/** In the form of systemd 252. */
const systemctl = (active: string, sub: string, result: string): string =>
  `for unit; do :; done\nprintf 'Result=${result}\\nNRestarts=0\\nId=%s\\nLoadState=loaded\\nActiveState=${active}\\nSubState=${sub}\\n' "$unit"`;

function compare(
  results: ReadonlyMap<string, string>,
  expected: Readonly<Record<string, string | RegExp>>,
): void {
  const others = Object.entries(expected).filter(([name, outcome]) => {
    const result = results.get(name) ?? "";
    return typeof outcome === "string" ? result !== outcome : !outcome.test(result);
  });
  assert.deepEqual(others.map(([name]) => results.get(name)), others.map(([, outcome]) => outcome));
}

// The recipes with other programs, run with those of Debian.

function recipe(page: string, heading: string): WrittenCheck {
  const [check] = Object.values(checksOf(page, heading));
  assert.ok(check !== undefined);
  return check;
}

/** With other variables of the command, and another text in its arguments. */
function locally(
  { kind, parameters }: WrittenCheck,
  environment: Readonly<Record<string, string>>,
  replaced: readonly [text: string, by: string] = ["", ""],
): WrittenCheck {
  const local = JSON.parse(JSON.stringify(parameters).replace(...replaced));
  return { kind, parameters: { ...local, environment } };
}

provided(withHarness, testWith("restic"))(
  "docs/recipes: the last snapshot of restic, and its repository",
  async (harness) => {
    const { directory } = harness;
    await Deno.writeTextFile(`${directory}/password`, "swordfish");
    const environment = {
      RESTIC_REPOSITORY: `${directory}/repository`,
      RESTIC_PASSWORD_FILE: `${directory}/password`,
      RESTIC_CACHE_DIR: `${directory}/cache`,
    };
    const restic = async (...args: readonly string[]): Promise<void> => {
      const { success, stderr } = await runChild(tool("restic"), args, { env: environment });
      assert.ok(success, stderr);
    };
    const last = recipe("backups", "How do I check the last snapshot of restic?");
    const checks = {
      last: locally(last, environment, ["/srv", directory]),
      other: locally(last, environment),
      wrong: locally(last, { ...environment, RESTIC_PASSWORD_FILE: "/dev/null" }, ["/srv", directory]),
      verified: locally(recipe("backups", "How do I verify a repository?"), environment),
    };
    await restic("init");
    assert.equal((await runChecks(harness, { last: checks.last })).get("last"), "critical: no snapshot");
    await restic("backup", "--exclude", "repository", directory);
    const results = await runChecks(harness, checks);
    assert.equal(results.get("last"), "ok: last snapshot 0 hours ago");
    assert.equal(results.get("other"), "critical: no snapshot");
    assert.match(results.get("wrong") ?? "", /^critical: Fatal: .*password/);
    assert.match(results.get("verified") ?? "", /^ok: /);
  },
);

provided(withHarness, testWith("borg"))(
  "docs/recipes: the last archive of Borg, in any time zone",
  async (harness) => {
    const { directory } = harness;
    await Deno.writeTextFile(`${directory}/passphrase`, "swordfish");
    const environment = {
      BORG_REPO: `${directory}/repository`,
      BORG_PASSCOMMAND: `cat ${directory}/passphrase`,
      BORG_BASE_DIR: directory,
      TZ: "Pacific/Auckland",
    };
    const borg = async (...args: readonly string[]): Promise<void> => {
      const { success, stderr } = await runChild(tool("borg"), args, { env: environment });
      assert.ok(success, stderr);
    };
    const last = recipe("backups", "How do I check the last archive of Borg?");
    const checks = {
      last: locally(last, environment),
      wrong: locally(last, { ...environment, BORG_PASSCOMMAND: "echo wrong" }),
    };
    await borg("init", "--encryption=repokey");
    assert.equal((await runChecks(harness, { last: checks.last })).get("last"), "critical: no archive");
    await borg("create", "::one", `${directory}/passphrase`);
    const results = await runChecks(harness, checks);
    assert.equal(results.get("last"), "ok: last archive 0 hours ago");
    assert.match(results.get("wrong") ?? "", /^critical: passphrase supplied in .* is incorrect/);
  },
);

provided(withHarness, testWith("check_snmp", "snmpd", "snmpget"))(
  "docs/recipes: a port of a device by SNMP",
  async (harness) => {
    const { directory } = harness;
    const port = freePort();
    await Deno.writeTextFile(`${directory}/snmpd.conf`, "rocommunity public 127.0.0.1\n");
    const args = ["-f", "-Lo", "-C", "-c", `${directory}/snmpd.conf`, "-p", `${directory}/pid`];
    const child = startChild(tool("snmpd"), [...args, `udp:127.0.0.1:${port}`], {
      stdout: "piped",
      stderr: "null",
      env: { SNMP_PERSISTENT_DIR: directory },
    });
    try {
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; !text.includes("NET-SNMP version");) {
        const { value, done } = await reader.read();
        assert.ok(!done, text);
        text += value;
      }
      const written = recipe("infrastructure", "How do I check a device by SNMP?");
      const host = ["switch.example.org", `127.0.0.1","-p","${port}`] as const;
      const check = locally(written, {}, host);
      const results = await runChecks(harness, {
        up: check,
        down: locally(check, {}, ["1:1", "2:2"]),
        another: locally(check, {}, ["2.2.1.8.1", "2.2.1.8.99999"]),
      });
      assert.match(results.get("up") ?? "", /^ok: SNMP OK - 1/);
      assert.match(results.get("down") ?? "", /^critical: SNMP CRITICAL - \*1\*/);
      assert.match(results.get("another") ?? "", /^unknown: No valid data returned/);
      await reader.cancel();
    } finally {
      child.kill("SIGTERM");
      await child.status;
    }
  },
);

/** A port of TCP that nothing uses; that of UDP is free as well, unless another server has just got it. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
