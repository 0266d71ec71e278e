/** Planted secrets, which the program must leave nowhere, and hostile names and outputs, which must have no effect. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { requiresTools } from "../../testing/tools.ts";
import { type Harness, withHarness } from "./program.ts";
import { type EchoServer, startEchoServer, startMailbox } from "./receivers.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { HOSTILE_NAMES } from "../../testing/hostile_configs.ts";
import { unsafeCodes } from "../cli/formats/hostile_records.ts";

const test = provided(withHarness, concurrentTests("monitor: secrets"));
const testInAll = concurrentTests("monitor: secrets: more", requiresTools("time"));

const PASSWORD = "planted-mail-password-7f3a";
const TOKEN = "planted-header-token-91bc";
const HOOK_QUERY = "planted-hook-query-c0de";
const CHECK_QUERY = "planted-check-query-55aa";
const SCRIPT_SECRET = "planted-script-secret-d00d";
const SECRETS: readonly string[] = [PASSWORD, TOKEN, HOOK_QUERY, CHECK_QUERY, SCRIPT_SECRET];

/** The variables with the secrets of the config; the program gets them, its scripts must not. */
const ENVIRONMENT = { MAIL_PASSWORD: PASSWORD, HOOK_QUERY, CHECK_QUERY, SCRIPT_SECRET };

test("monitor: no secret is in an output, a log, the state, a mail, a webhook, an error or another script's environment", async (harness) => {
  await using mailbox = await startMailbox(PASSWORD);
  await using leaky = startEchoServer();
  writeLeakyConfig(harness, leaky, mailbox.channel);
  const texts = new Map<string, string>();
  const run = async (command: string): Promise<void> => {
    const { stdout, stderr } = await harness.runHere(command.split(" "), { environment: ENVIRONMENT });
    texts.set(`stdout of ${command}`, stdout);
    texts.set(`stderr of ${command}`, stderr);
  };
  const formats = ["json", "ndjson", "junit", "tap", "plugin"];
  await run(`check --once${formats.map((format) => ` --output ${format}=shown.${format}`).join("")}`);
  const job = await harness.run(["beat", "backup", "--", "./job"], { environment: ENVIRONMENT });
  assert.equal(job.stdout, `job ${SCRIPT_SECRET}\n`, "a job runs as it would without");
  texts.set("stderr of beat backup -- ./job", job.stderr);
  const program = harness.start(["check", "--format", "ndjson", "--log-level", "debug"], {
    environment: ENVIRONMENT,
  });
  for (const check of ["given", "web", "backup"]) {
    await program.stdout.event("result", ({ name }) => name === check);
  }
  await program.stderr.next(/returned status 500/);
  // The journal is merged into the state when the program has exited.
  for (const end of ["", "-wal"]) {
    const bytes = readBytes(`${harness.directory}/kept.sqlite${end}`);
    texts.set(`the file kept.sqlite${end} of the running program`, bytes);
  }
  texts.set("the arguments of the program", readBytes(`/proc/${program.pid}/cmdline`));
  harness.writeScript("given", 'echo "changed $GIVEN_SECRET"; exit 1');
  program.signal("SIGHUP");
  await program.stderr.next(/reload|read again|nothing changed/i);
  program.signal("SIGTERM");
  const { stdout, stderr } = await program.end();
  texts.set("stdout of check", stdout);
  texts.set("stderr of check", stderr);
  mailbox.isUp = false;
  const commands =
    "status, status --format json, history given, explain, validate, notify, explain given web, permissions, " +
    "permissions --check, report, report -o another.html, validate --shape a, check nothing, beat given, " +
    "silence given --for 1h --reason why, check --once --due, check --once --state /dev/null/no/place, " +
    "beat nothing, beat backup -- ./no/such/program, beat backup --state /dev/null/no/place -- true, " +
    "beat backup --failed, check --once backup";
  for (const command of commands.split(", ")) await run(command);
  for (const [index, { subject, text }] of (await mailbox.read()).entries()) {
    texts.set(`the mail "${subject}"`, `${subject}\n${text}\n${mailbox.raw[index]?.raw}`);
  }
  for (const [index, body] of leaky.bodies.entries()) texts.set(`the body of request ${index}`, body);
  for (const name of filesLeftIn(harness)) {
    texts.set(`the file ${name}`, readBytes(`${harness.directory}/${name}`));
  }

  assert.ok([...texts.keys()].some((name) => name.startsWith("the mail")), "a mail came");
  const left = "kept.sqlite page.html another.html monitor.prom alive channel_environment shown.tap";
  for (const name of left.split(" ")) assert.ok(texts.has(`the file ${name}`), `${name} was written`);
  assert.match(texts.get("stdout of report") ?? "", /<!doctype html>/);
  assert.match(texts.get("the file other_environment") ?? "", /MONITOR_CHECK=other/);
  assert.match(texts.get("the file shown.json") ?? "", /\[secret\]/, "what leaked is hidden");
  assert.match(texts.get("stdout of status --format json") ?? "", /with code 1: asked \[secret\]/);
  for (const check of ["given", "backup"]) {
    assert.ok(
      leaky.bodies.some((body) => body.includes(`"check":"${check}"`) && body.includes("[secret]")),
      `a webhook received ${check}, and not its secret`,
    );
  }
  for (const secret of [TOKEN, CHECK_QUERY]) {
    assert.ok(leaky.heads.some((head) => head.includes(secret)), "the receiver was given its secret");
  }
  for (const [where, text] of texts) {
    for (const secret of SECRETS) {
      assert.ok(!text.includes(secret), `${where} has ${secret}:\n${excerpt(text, secret)}`);
    }
  }
});

testInAll("monitor: an error that nothing has caught ends it with 70 and tells no secret", (add) => {
  const preload = fileURLToPath(new URL("../fixtures/throw_secret.ts", import.meta.url));
  for (const how of ["error", "rejection"]) {
    add(how, () =>
      withHarness(async (harness) => {
        harness.writeConfig({ a: { kind: "test", parameters: { output: "${env:PLANTED}" } } });
        const { code, stdout, stderr } = await harness.run(["check", "--state", "none"], {
          environment: { PLANTED: SCRIPT_SECRET, PLANTED_AS: how },
          permissions: ["--allow-all", `--preload=${preload}`],
        });
        assert.equal(code, 70, stderr);
        assert.match(stderr, /bug in monitor\n[^]*TypeError: Invalid URL: 'http:\/\/\[secret\]\\x1b\[2J'/);
        assert.ok(!`${stdout}${stderr}`.includes(SCRIPT_SECRET), stderr);
      }));
  }
});

function writeLeakyConfig(
  harness: Harness,
  { port }: EchoServer,
  mail: Readonly<Record<string, unknown>>,
): void {
  const { parameters } = mail as {
    readonly parameters: { readonly access: Readonly<Record<string, unknown>> };
  };
  Deno.writeTextFileSync(`${harness.directory}/token`, `${TOKEN}\n`);
  harness.writeScript(
    "given",
    'echo "given $GIVEN_SECRET | x=1"; echo "detail $GIVEN_SECRET"; echo "$GIVEN_SECRET" >&2; exit 2',
  );
  harness.writeScript(
    "other",
    "env >other_environment; cat /proc/$PPID/cmdline | tr '\\0' ' ' >other_parent; exit 1",
  );
  harness.writeScript("job", 'echo "job $SCRIPT_SECRET"; exit 3');
  harness.writeScript(
    "channel",
    'cat >channel_input; echo "asked $GIVEN_SECRET" >&2; unset GIVEN_SECRET; env >channel_environment; exit 1',
  );
  harness.writeConfig({
    given: {
      kind: "script",
      title: "Given ${env:SCRIPT_SECRET}",
      parameters: { path: "./given", environment: { GIVEN_SECRET: "${env:SCRIPT_SECRET}" } },
    },
    other: { kind: "script", parameters: { path: "./other" } },
    backup: { kind: "job", parameters: { expected_every: "1 day" } },
    web: {
      kind: "http_request",
      parameters: {
        request: { target: `http://127.0.0.1:${port}/?key=\${env:CHECK_QUERY}` },
        response: { headers: { "X-Asked": "something else" }, body_part: "something else" },
      },
    },
    gone: {
      kind: "http_request",
      parameters: { request: { target: "http://127.0.0.1:1/?key=${env:CHECK_QUERY}" } },
    },
  }, {
    state: "kept.sqlite",
    report: { path: "page.html" },
    metrics: { path: "monitor.prom" },
    // Rejected with an echo of the request.
    heartbeat: { target: `http://127.0.0.1:${port}/beat?key=\${env:HOOK_QUERY}`, path: "alive" },
    defaults: {
      threshold: 1,
      reminders: true,
      schedule: { regular_interval: 1 },
      notifications: [
        { kind: "console", parameters: {} },
        {
          ...mail,
          parameters: { ...parameters, access: { ...parameters.access, password: "${env:MAIL_PASSWORD}" } },
        },
        {
          kind: "webhook",
          parameters: {
            target: `http://127.0.0.1:${port}/hook?token=\${env:HOOK_QUERY}`,
            headers: { Authorization: "Bearer ${file:./token}" },
          },
        },
        {
          kind: "command",
          parameters: { path: "./channel", environment: { GIVEN_SECRET: "${env:SCRIPT_SECRET}" } },
        },
      ],
    },
  });
}

/** All files except for those that the test has written itself. */
function filesLeftIn({ directory }: Harness): readonly string[] {
  const own = ["monitor.json", "token", "given", "other", "job", "channel"];
  const names = [...Deno.readDirSync(directory)].filter((entry) => entry.isFile).map((entry) => entry.name);
  return names.filter((name) => !own.includes(name));
}

/** Each byte as a character, so that nothing is lost. */
function readBytes(path: string): string {
  return new TextDecoder("latin1").decode(Deno.readFileSync(path));
}

function excerpt(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return text.slice(Math.max(0, at - 200), at + 100);
}

// Names, titles, tags and outputs that try to break out of their context, through the real program.

const testHostile = provided(withHarness, concurrentTests("monitor: hostile texts"));

/** One is too long for the arguments of some commands below, and an empty one is no tag. */
const SHORT: readonly string[] = HOSTILE_NAMES.filter((name) => name.length < 1000);
/** A name in two lines. */
const LINES = "a\r\nb";
/** A twelfth of them by default, which the seed chooses. */
const EVERY = 12 / campaign(12, 1);
const TEXTS: readonly string[] = SHORT.filter((text, index) =>
  text === LINES || (index + testSeed()) % EVERY === 0
);

testHostile("monitor: no hostile text acts on a terminal, whatever the command", async (harness) => {
  writeHostile(harness, TEXTS);
  await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
  const assertSafe = async (args: readonly string[]): Promise<void> => {
    const { stdout, stderr } = await harness.runHere(args);
    assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify([args, stdout, stderr]));
    assert.doesNotMatch(stderr, /this is a bug/, JSON.stringify(args));
  };
  await assertSafe(["status", "--state", "kept.sqlite"]);
  const silence = ["silence", "--state", "kept.sqlite", "--for", "1h", "--reason", "\u001b[2J\n\u202e"];
  await assertSafe([...silence, "--", LINES]);
  const commands: readonly (readonly string[])[] = [
    ["status", "--state", "kept.sqlite", "--format", "json"],
    ["history", "--state", "kept.sqlite", "--", LINES],
    ["explain"],
    ["validate"],
    ["permissions"],
    ["check", "--once", "--state", "none", "--", "\u001b]0;owned\u0007"],
    ["check", "--once", "--state", "none", "--", "\u202eno such check\u001b[2J"],
    ["status", "--state", "kept.sqlite"],
    ["validate", "--config", "no\u001b[2Jfile\n\u202e"],
    ["validate", "--state\u001b[2J"],
    ["no\u001b[2Jcommand\u202e"],
    ["init", "in\u001b[2Jit.jsonc"],
  ];
  await Promise.all(commands.map(assertSafe));
  writeHostile(harness, TEXTS, "1 second");
  const program = harness.startHere(["check", "--state", "none", "--log-level", "debug"]);
  await program.stdout.next((line) => line.includes("CRITICAL"));
  program.signal("SIGHUP");
  await program.stderr.next(/reload|nothing changed|read again/i);
  program.signal("SIGTERM");
  const { stdout, stderr } = await program.end();
  assert.deepEqual(unsafeCodes(stdout + stderr), []);
});

testHostile("monitor validate: no hostile text in an error acts on a terminal", async (harness) => {
  const checks = TEXTS.map((text, index) =>
    [text, { kind: `${text}${index}`, [`x${text}`]: text, parameters: { [text]: text } }] as const
  );
  harness.writeConfig(Object.fromEntries(checks));
  Deno.mkdirSync(`${harness.directory}/conf.d`);
  Deno.writeTextFileSync(`${harness.directory}/conf.d/\u001b[2J\u202e\n.jsonc`, '{ "chekcs": {} }');
  Deno.writeTextFileSync(
    `${harness.directory}/files.json`,
    '{ "defaults": {}, "include": "conf.d/*.jsonc" }',
  );
  for (const args of [["validate"], ["validate", "--config", "files.json"], ["check", "--once"]]) {
    const { code, stdout, stderr } = await harness.runHere(args);
    assert.equal(code, 78, stderr);
    assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify(stderr));
  }
});

/** Writes checks whose names, titles, tags and outputs are the texts; each of them is critical. */
function writeHostile(harness: Harness, texts: readonly string[], interval = "1 day"): void {
  const checks = texts.map((text) => {
    const output = `says ${text.toWellFormed()}\ndetail of ${text}\n`;
    const check = {
      title: text,
      tags: [text === "" ? "empty" : text],
      kind: "test",
      parameters: { condition: "critical", output },
    };
    return `${JSON.stringify(text)}:${JSON.stringify(check)}`;
  });
  const defaults = JSON.stringify({ threshold: 1, schedule: { regular_interval: interval } });
  Deno.writeTextFileSync(
    `${harness.directory}/monitor.json`,
    // Not an object, where "__proto__" would be lost.
    `{"defaults":${defaults},"metrics":{"path":"monitor.prom"},"checks":{${checks.join(",")}}}`,
    // Whatever the umask: the program warns of a config that others may write.
    { mode: 0o644 },
  );
}
