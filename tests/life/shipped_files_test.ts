/** The files in `examples/` that set the program up: each is validated by its tool, and its commands are run. */
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { parse, parseAllDocuments } from "yaml";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { systemdAnalyze } from "../support/systemd_analyze.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { monitorCommand } from "../../testing/source.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("examples");
const testWithHarness = provided(withHarness, test);
const testInAll = provided(withHarness, concurrentTests("examples: more", requiresTools("time")));

const EXAMPLES = new URL("../../examples/", import.meta.url);
const PROGRAM_PATH = "/usr/local/bin/monitor";
const CONFIG_PATH = "/etc/monitor/monitor.jsonc";

function readExample(path: string): string {
  return Deno.readTextFileSync(new URL(path, EXAMPLES));
}

/** The values of a unit's settings; a setting may come several times. */
function settingsOf(unit: string): ReadonlyMap<string, readonly string[]> {
  const settings = new Map<string, string[]>();
  for (const line of unit.split("\n")) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) settings.set(name, [...settings.get(name) ?? [], value]);
  }
  return settings;
}

/** Returns a command of an example as it is run here: with this program, and the config of the harness. */
function commandHere(command: string, { directory }: Harness): string {
  const program = monitorCommand().map((part) => `'${part}'`).join(" ");
  return command.replaceAll(PROGRAM_PATH, program).replaceAll(CONFIG_PATH, `${directory}/monitor.json`);
}

const BAD = { kind: "test", parameters: { condition: "warning", output: "rather warm" } };

async function analyze(args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout, stderr } = await systemdAnalyze(args);
  return { code, text: stdout + stderr };
}

testInAll("examples/systemd: systemd-analyze finds nothing wrong with the units", async ({ directory }) => {
  const names = ["monitor.service", "monitor-due.service", "monitor-due.timer"];
  // It also searches for the commands, and a missing one is no error of a unit.
  for (const name of names) {
    const unit = readExample(`systemd/${name}`).replaceAll(PROGRAM_PATH, "/bin/true");
    Deno.writeTextFileSync(`${directory}/${name}`, unit);
  }
  const { code, text } = await analyze([
    "verify",
    "--man=no",
    ...names.map((name) => `${directory}/${name}`),
  ]);
  assert.equal(text, "");
  assert.equal(code, 0);
}, requiresTools("systemd-analyze"));

test("examples/systemd: the sandbox of the services is as tight as it was", async () => {
  for (const name of ["monitor.service", "monitor-due.service"]) {
    const path = fileURLToPath(new URL(`systemd/${name}`, EXAMPLES));
    // In tenths: an exposure of 2.5 of 10 at most.
    const { code, text } = await analyze(["security", "--offline=true", "--threshold=25", path]);
    assert.equal(code, 0, text.trimEnd().split("\n").at(-1) ?? "it said nothing");
  }
}, requiresTools("systemd-analyze"));

testInAll(
  "examples/systemd/monitor.service: its commands start, reload and stop the program",
  async (harness) => {
    const settings = settingsOf(readExample("systemd/monitor.service"));
    const [start = ""] = settings.get("ExecStart") ?? [];
    harness.writeConfig({ bad: BAD });
    const program = harness.start([], {
      shell: `exec ${commandHere(start, harness)}`,
      environment: { STATE_DIRECTORY: `${harness.directory}/state` },
    });
    await program.stdout.next(`state in ${harness.directory}/state/`);
    await program.stdout.next("bad has a warning: rather warm");

    const reload = async (): Promise<readonly number[]> => {
      const codes: number[] = [];
      for (const command of settings.get("ExecReload") ?? []) {
        const shell = commandHere(command, harness).replace("$MAINPID", String(program.pid));
        codes.push((await harness.start([], { shell }).end()).code);
        // systemd goes no further than the first command that fails.
        if (codes.at(-1) !== 0) break;
      }
      return codes;
    };
    harness.writeConfig({ bad: BAD, other: BAD });
    assert.deepEqual(await reload(), [0, 0]);
    await program.stderr.next("config reloaded: 2 checks, 1 added");
    harness.writeConfig({ bad: { kind: "tset" } });
    assert.deepEqual(await reload(), [78]);
    program.signal("SIGTERM");
    const { code, stderr } = await program.end();
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /error/, "the mistake did not reach the running program");
    // Longer than running checks may take to finish and to be ended.
    assert.ok(Number(settings.get("TimeoutStopSec")?.[0]) >= 30);
  },
  requiresTools("kill"),
);

testInAll(
  "examples/systemd/monitor-due.service: what a call sees is no failure of the unit",
  async (harness) => {
    const settings = settingsOf(readExample("systemd/monitor-due.service"));
    harness.writeConfig({ bad: BAD });
    const [start = ""] = settings.get("ExecStart") ?? [];
    const { code, stdout, stderr } = await harness.start([], {
      shell: `exec ${commandHere(start, harness)}`,
      environment: { STATE_DIRECTORY: `${harness.directory}/state` },
    }).end();
    assert.equal(code, 1);
    assert.deepEqual(settings.get("SuccessExitStatus"), ["1 2 3"]);
    assert.match(stdout, /bad has a warning: rather warm/);
    assert.equal(stderr, "");
  },
);

testWithHarness(
  "examples/cron/monitor: its line has the form of /etc/cron.d, and sh runs its command",
  async (harness) => {
    const lines = readExample("cron/monitor").split("\n").filter((line) => !/^#|^$|^\w+=/.test(line));
    assert.equal(lines.length, 1);
    const [, schedule, user, command = ""] = /^((?:\S+ ){5})(\S+) (.+)$/.exec(lines[0] ?? "") ?? [];
    assert.equal(schedule, "* * * * * ");
    assert.equal(user, "monitor");
    // cron treats an unescaped per cent sign as the end of the command.
    assert.doesNotMatch(command, /%/);
    harness.writeConfig({ bad: BAD }, { defaults: { threshold: 1, schedule: { regular_interval: 3600 } } });
    const call = {
      shell: commandHere(command, harness),
      environment: { PATH: "/usr/bin:/bin", SHELL: "/bin/sh" },
    };
    const first = await harness.start([], call).end();
    assert.equal(first.code, 1);
    assert.match(first.stdout, /bad has a warning: rather warm/);
    assert.equal(first.stderr, "");
    const second = await harness.start([], call).end();
    assert.deepEqual(second, { code: 1, stdout: "", stderr: "" }, "nothing to do, nothing to mail");
  },
);

testInAll("examples/container/Containerfile: its command is one that the program takes", async (harness) => {
  const text = readExample("container/Containerfile").replaceAll("\\\n", " ");
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(text)?.[1] ?? "[]") as string[];
  const environment = Object.fromEntries(
    [...text.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = ""]) => pairs.split(" "))
      .map((pair) => pair.split("=", 2) as [string, string]),
  );
  assert.equal(command[0], PROGRAM_PATH);
  assert.equal(environment["MONITOR_CONFIG"], CONFIG_PATH);
  harness.writeConfig({ bad: BAD });
  const here = {
    MONITOR_CONFIG: `${harness.directory}/monitor.json`,
    STATE_DIRECTORY: `${harness.directory}${environment["STATE_DIRECTORY"]}`,
  };
  const program = harness.start(command.slice(1), { environment: here });
  await program.stdout.next(`state in ${here.STATE_DIRECTORY}/`);
  await program.stdout.next("bad has a warning");
  // As `podman exec monitor monitor status` does.
  assert.equal((await harness.run(["status"], { environment: here })).code, 1);
});

/** The lines of the image that other files have to agree with. */
function readImage(): { readonly state: string; readonly config: string; readonly userId: number } {
  const text = readExample("container/Containerfile");
  return {
    state: /STATE_DIRECTORY=(\S+)/.exec(text)?.[1] ?? "",
    config: /MONITOR_CONFIG=(\S+)/.exec(text)?.[1] ?? "",
    userId: Number(/--uid (\d+)/.exec(text)?.[1]),
  };
}

test("examples/container/compose.yaml: volumes, build and variables are those of the image", async () => {
  const { services: { monitor }, volumes } = parse(readExample("container/compose.yaml"));
  const { state, config } = readImage();
  const targets = monitor.volumes.map((volume: string) => volume.split(":").slice(0, 2));
  assert.deepEqual(targets, [["./config", dirname(config)], ["state", state]]);
  assert.deepEqual(Object.keys(volumes), ["state"]);
  const context = new URL(`container/${monitor.build.context}/`, EXAMPLES);
  assert.ok((await Deno.stat(new URL(monitor.build.dockerfile, context))).isFile);
  assert.ok((await Deno.stat(new URL("main.ts", context))).isFile);
  assert.deepEqual(Object.keys(monitor.environment), ["MONITOR_TOKEN"]);
});

testWithHarness(
  "examples/container/kubernetes.yaml: the config is valid, and the pod has what it names",
  async (harness) => {
    const [map, claim, deployment, service] = parseAllDocuments(readExample("container/kubernetes.yaml"))
      .map((document) => document.toJS());
    const image = readImage();
    const text: string = map.data[basename(image.config)];
    Deno.writeTextFileSync(`${harness.directory}/monitor.json`, text);
    const environment = { MONITOR_TOKEN: "0123456789abcdef" };
    const { code, stderr } = await harness.runHere(["validate", "--strict"], { environment });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    const { template, selector } = deployment.spec;
    const [container] = template.spec.containers;
    const mounts = new Map<string, string>(
      container.volumeMounts.map(({ name, mountPath }: Record<string, string>) => [name, mountPath]),
    );
    const volumes = new Map<string, Record<string, unknown>>(
      template.spec.volumes.map((volume: { name: string }) => [volume.name, volume]),
    );
    assert.equal(mounts.get("config"), dirname(image.config));
    assert.deepEqual(volumes.get("config")?.["configMap"], { name: map.metadata.name });
    assert.deepEqual(volumes.get("state")?.["persistentVolumeClaim"], { claimName: claim.metadata.name });
    assert.match(text, new RegExp(`"state": "${mounts.get("state")}/data/`));
    assert.equal(template.spec.securityContext.runAsUser, image.userId);
    assert.deepEqual(service.spec.selector, selector.matchLabels);
    assert.deepEqual(template.metadata.labels, selector.matchLabels);
    const [{ containerPort, name }] = container.ports;
    assert.match(text, new RegExp(`"address": "0\\.0\\.0\\.0:${containerPort}"`));
    assert.deepEqual(container.livenessProbe.httpGet, { path: "/healthz", port: name });
    assert.equal(service.spec.ports[0].targetPort, name);
  },
);

test("examples/launchd and examples/windows: the command lines are those of a service", () => {
  const plist = readExample("launchd/org.check-monitor.monitor.plist");
  const [, list = ""] = /<key>ProgramArguments<\/key>\s*<array>(.*?)<\/array>/s.exec(plist) ?? [];
  const words = [...list.matchAll(/<string>(.*)<\/string>/g)].map(([, word]) => word);
  assert.deepEqual(words, [PROGRAM_PATH, "check", "--config", CONFIG_PATH]);
  const service = readExample("windows/monitor_service.xml");
  assert.match(service, /<executable>%BASE%\\monitor\.exe<\/executable>/);
  assert.match(service, /<arguments>check --config "%BASE%\\monitor\.jsonc"<\/arguments>/);
});

test("examples/launchd and examples/windows: Python reads the files", async () => {
  const files = ["launchd/org.check-monitor.monitor.plist", "windows/monitor_service.xml"]
    .map((path) => fileURLToPath(new URL(path, EXAMPLES)));
  const { code, stderr } = await runChild(tool("python3"), [
    "-c",
    "import plistlib, sys, xml.dom.minidom; plistlib.load(open(sys.argv[1], 'rb')); xml.dom.minidom.parse(sys.argv[2])",
    ...files,
  ]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
}, requiresTools("python3"));

testInAll(
  "examples/team: the config is valid with the variables of its page, without a warning",
  async ({ directory }) => {
    const page = readExample("team/README.md");
    const [lines = ""] = /^export (?:.*\n)(?:export .*\n)*/m.exec(page) ?? [];
    const pairs = lines.split(/\s+/).filter((word) => word.includes("="));
    const environment = Object.fromEntries(pairs.map((pair) => pair.split("=", 2)));
    const config = fileURLToPath(new URL("team/monitor.jsonc", EXAMPLES));
    const [program = "", ...words] = monitorCommand();
    const args = [...words, "validate", "--strict", "--config", config];
    const { code, stderr } = await runChild(program, args, { env: { HOME: directory, ...environment } });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  },
);
