import { type Check, combinedChecks } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { requiredPermissionsOf } from "../../permissions/required_permissions.ts";
import { type Proof, prove, type Proved } from "../../rehearsal/prove.ts";
import { firstItems, jsonDocument, printable } from "../../shared/text.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import { jobLogOf } from "../../state/read_store.ts";
import { abortOnStop, warn } from "../terminal.ts";
import { type Command, EXIT, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { describeMissing, dropOtherPermissions } from "../config_permissions.ts";
import { openStateOf } from "../known_config.ts";
import {
  type OpenConfig,
  openConfig,
  readKinds,
  readSelection,
  runSettings,
  selectChecks,
} from "../open_config.ts";
import { locateState } from "../open_state.ts";

export const proveCommand: Command = {
  name: "prove",
  group: "set_up",
  summary: "list what a check would not notice",
  operands: "[NAME…]",
  description:
    "Runs each check once, keeps in memory what it exchanged, and repeats it with faults: refused, reset, silent or slow, " +
    "another status or body, an expired certificate, a missing file, a failing command, and so on. Lists the faults that " +
    "the check would not notice, and the setting that would. Nothing is sent to a target but by the one run, nothing is " +
    "stored, and no channel is called.",
  page: "guides/prove.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    option("--at-least PERCENT", "fail if a check would notice fewer of the faults (default: 0)"),
    OPTION.format,
  ],
  examples: [
    ["monitor prove web", "list what one check would not notice"],
    ["monitor prove --tag shop --at-least 70", "fail a CI pipeline if a check notices too little"],
    ["monitor prove web --format json", "print JSON for scripts"],
  ],
  endings: ["done", "proven", "name", "state", "permission", "config", "interrupted"],
  run: runProve,
};

async function runProve(invocation: Invocation, system: System): Promise<number> {
  const format = invocation.reportFormat();
  const atLeast = readPercent(invocation.text("at-least"));
  const config = await openConfig(invocation, system);
  const checks = selectChecks(config.checks, readSelection(invocation)).filter(({ active }) => active);
  const own = await requiredPermissionsOf({ checks, heartbeat: null, notifies: false }, system);
  const kinds = await readKinds(checks.map(({ kind }) => kind));
  const state = checks.some(({ kind }) => kinds.get(kind)?.hasCheckIns === true)
    ? await openStateOf({ config, place: await locateState(invocation, config, system) }, system, {
      usesNetwork: true,
    })
    : null;
  for (const need of dropOtherPermissions(own, { system, config })) warn(describeMissing(need), system);
  const stop = abortOnStop(system);
  const proofs: Shown[] = [];
  try {
    for (const check of checks) {
      proofs.push({
        check,
        proof: combinedChecks(check).length > 0 ? null : await prove(check, {
          system,
          // What a log has now is read by the run after a first one, which is not played.
          memoryOf: () => null,
          jobs: state?.store ? jobLogOf({ store: state.store }) : null,
          ...runSettings(config),
          signal: stop.signal,
          settle: () => system.settle(),
        }),
      });
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    stop.end();
    await state?.[Symbol.asyncDispose]();
  }
  if (stop.code !== null) return stop.code;
  system.stdout.write(format === "json" ? proofJson(proofs) : proofText(proofs, config));
  return proofs.every(({ proof }) => proof === null || isProven(proof, atLeast)) ? EXIT.ok : EXIT.nothing;
}

interface Shown {
  readonly check: Check;
  /** `null`: it combines other checks, and is as good as these. */
  readonly proof: Proof | null;
}

function readPercent(value: string | undefined): number {
  if (value === undefined) return 0;
  const percent = /^(\d{1,3})%?$/.exec(value)?.[1];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent);
  throw new UsageError(`--at-least is ${JSON.stringify(value)}, expected a percentage from 0 to 100`);
}

/** A check that was not ok proves nothing. */
function isProven({ result, faults }: Proof, atLeast: number): boolean {
  if (result.condition !== "ok") return false;
  return faults.filter(({ isNoticed }) => isNoticed).length * 100 >= faults.length * atLeast;
}

function proofText(proofs: readonly Shown[], config: OpenConfig): string {
  if (proofs.length === 0) return "no active check\n";
  const blocks = proofs.map((shown) => proofLines(shown, config).map((line) => `${printable(line)}\n`));
  return blocks.map((lines) => lines.join("")).join("\n");
}

function proofLines({ check, proof }: Shown, { redact }: OpenConfig): readonly string[] {
  if (proof === null) return [`${check.name}: it combines other checks; prove these`];
  const { result, faults } = proof;
  if (result.condition !== "ok") {
    return [`${check.name}: nothing is proven, since it is ${result.condition}: ${result.output}`];
  }
  if (faults.length === 0) return [`${check.name}: it exchanges nothing that can have a fault`];
  const noticed = faults.filter(({ isNoticed }) => isNoticed);
  const width = Math.max(0, ...faults.map(({ name }) => textWidth(name)));
  return [
    `${check.name}: would notice ${noticed.length} of ${faults.length} faults` +
    (check.notifications.length === 0 ? ", but it has no channel to notify" : ""),
    ...faults.flatMap((fault) => faultLines(fault, width)).map((line) => redact(line)),
  ];
}

function faultLines(fault: Proved, width: number): readonly string[] {
  const { name, isNoticed, condition, output, hint, unnoticed } = fault;
  const named = `  ${isNoticed ? " " : "!"} ${pad(name, width)}  `;
  const fields = unnoticed.length === 0 ? "" : ` (not: ${firstItems(unnoticed, 5).join(", ")})`;
  if (isNoticed) return [`${named}${condition}: ${output}${fields}`];
  return [`${named}not noticed${hint === null ? "" : `; ${hint} would`}${fields}`];
}

/** The same for programs; fields are only ever added. */
function proofJson(proofs: readonly Shown[]): string {
  return jsonDocument({
    checks: proofs.map(({ check, proof }) => ({
      check: check.name,
      condition: proof?.result.condition ?? null,
      output: proof?.result.output ?? "",
      noticed: proof?.faults.filter(({ isNoticed }) => isNoticed).length ?? 0,
      faults: proof?.faults.map(({ isNoticed: noticed, name, condition, output, hint, unnoticed }) => (
        { name, noticed, condition, output, hint, unnoticed }
      )) ?? [],
    })),
  });
}
