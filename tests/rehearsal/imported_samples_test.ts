/** Injects the faults of `monitor prove` into local servers, which are the targets of imported configs. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Invocation } from "../../src/cli/command_definition.ts";
import { openConfigAt } from "../../src/cli/open_config.ts";
import { run } from "../../src/cli/run.ts";
import { type Check, combinedChecks } from "../../src/domain/check.ts";
import type { JobLog } from "../../src/domain/store.ts";
import { faultsOf } from "../../src/rehearsal/faults.ts";
import { prove, type ProveOptions } from "../../src/rehearsal/prove.ts";
import { recordWorld } from "../../src/rehearsal/tape.ts";
import { runCheck } from "../../src/scheduler/run_checks.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { campaign } from "../../testing/seed.ts";
import { type Json, type StandIns, startStandIns } from "../support/stand_ins.ts";

const DATA = new URL("../import/testdata/", import.meta.url);

const SAMPLES = {
  "Gatus": ["gatus", "gatus/config.yaml"],
  "Uptime Kuma": ["uptime-kuma", "uptime-kuma/backup.json"],
} as const;

/** Faults that no local server can inject: a connection that is never made, and runs of jobs. */
const UNPLANTED = [
  "no connection",
  "run of the job that fails",
  "job that does not run any more",
  "run of the job that does not end",
];
/** Faults that end with the timeout of the check. */
const HANGING = [
  "no response",
  "connection that sends nothing",
  "another answer",
  "name server that is silent",
  "command that hangs",
];

/** How many checks there are for each in which faults are planted. */
const EVERY = campaign(8) === 8 ? 1 : 16;

interface Sample {
  readonly name: string;
  readonly checks: readonly Check[];
  /** The same checks, with ports without a listener. */
  readonly refused: readonly Check[];
}

async function openSample(name: keyof typeof SAMPLES, standIns: StandIns): Promise<Sample> {
  const [tool, file] = SAMPLES[name];
  const system = createMemorySystem({ workingDirectory: fileURLToPath(DATA) });
  assert.equal(await run(["import", tool, file, "--format", "json"], system), 0, system.stderr.text());
  const { config } = JSON.parse(system.stdout.text()) as { readonly config: Json };
  const open = async (targets: Json): Promise<readonly Check[]> => {
    const text = JSON.stringify(targets);
    const variables = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, variable = ""]) => variable);
    const environment = Object.fromEntries(variables.map((variable) => [variable, `value-of-${variable}`]));
    const opened = await openConfigAt({ path: "/etc/monitor/monitor.jsonc", named: true, text }, {
      invocation: new Invocation({}),
      system: createMemorySystem({ environment }),
    });
    return opened.checks.filter((check) => check.active && combinedChecks(check).length === 0);
  };
  return {
    name,
    checks: await open(standIns.configOf(config)),
    refused: await open(standIns.configOf(config, { isRefusing: true })),
  };
}

interface Samples extends AsyncDisposable {
  readonly standIns: StandIns;
  readonly samples: readonly Sample[];
  readonly options: ProveOptions;
}

async function openSamples(): Promise<Samples> {
  const stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(await tempDirectory());
  const system = createMemorySystem();
  // The virtual clock advances only for slow targets.
  let nowMs = 0;
  const standIns = stack.use(await startStandIns({ directory, onSlow: () => nowMs += 2_000 }));
  const { clock } = system;
  const samples: Sample[] = [];
  for (const name of ["Gatus", "Uptime Kuma"] as const) samples.push(await openSample(name, standIns));
  return {
    standIns,
    samples,
    options: {
      system: {
        ...system,
        clock: {
          wallMs: () => clock.wallMs(),
          monotonicMs: () => nowMs,
          after: (delayMs, callback) => clock.after(delayMs, callback),
        },
      },
      jobs: JOBS,
      directory,
      redact: (text) => text,
      signal: new AbortController().signal,
      settle: system.settle,
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Each job ended an hour ago. */
const JOBS: JobLog = {
  recall: (_, nowMs) => {
    const atMs = nowMs - DAY_MS / 24;
    const end = { atMs, durationMs: 1_000, how: "noted", exitCode: 0, reason: "", output: "" } as const;
    return Promise.resolve({
      sinceMs: nowMs - 30 * DAY_MS,
      last: { id: "1", startedAtMs: atMs - 1_000, end },
      inProgress: [],
    });
  },
};

Deno.test("prove() predicts the results of imported checks on real servers with the fault", async () => {
  await using opened = await openSamples();
  const { samples, standIns, options } = opened;
  let planted = 0;
  for (const { name, checks, refused } of samples) {
    for (const check of checks.filter((_check, index) => index % EVERY === 0)) {
      const { result, faults } = await prove(check, options);
      assert.equal(result.condition, "ok", `${check.name}: ${result.output}`);
      const recorded = recordWorld(options);
      const { startedAtMs } = await runCheck(check, { ...options, ...recorded });
      for (const { name: fault, tapes } of faultsOf(recorded.tape, startedAtMs)) {
        if (UNPLANTED.includes(fault)) continue;
        const { isNoticed, unnoticed } = faults.find((proved) => proved.name === fault) ?? assert.fail(fault);
        for (const [form] of tapes) {
          const target = fault === "connection refused"
            ? refused.find((other) => other.name === check.name) ?? assert.fail(check.name)
            : HANGING.includes(fault) && waits(check)
            ? { ...check, timeoutMs: 50 }
            : check;
          standIns.plant(fault, form);
          const found = await runCheck(target, options);
          const predicted = form === "" ? isNoticed : !unnoticed.includes(form);
          const words = `${name}, ${check.name}, ${fault} ${form}: ${found.condition}, ${found.output}`;
          assert.equal(found.condition !== "ok", predicted, words);
          planted++;
        }
      }
      standIns.plant("");
    }
  }
  assert.ok(planted > 150 / EVERY, `only ${planted} faults were planted`);
});

/** Returns whether a check waits for data of a silent target: a check of a port may only connect. */
function waits(check: Check): boolean {
  return check.kind !== "tcp_connect" || "expect" in check.parameters;
}
