import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { SystemdUnitParameters } from "../domain/generated/config.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import { firstItems } from "../shared/text.ts";
import { UNIT_NAME } from "../shared/unit_name.ts";
import { runSystemCommand } from "./system_command.ts";
import { evaluateMeasures, thresholdWarnings } from "./thresholds.ts";

export const systemdUnitKind: CheckKindEntry<"systemd_unit"> = {
  observe: observeSystemdUnit,
  limit: "process",
  target: {
    form: "UNIT",
    claims: ({ text }) => UNIT_NAME.test(text),
    parametersOf: ({ text }) => ({ unit: text }),
    nameOf: ({ text }) => text.replace(/\.service$/, ""),
    subjectsOf: ({ parameters: { unit } }) => [`unit ${unit.includes(".") ? unit : `${unit}.service`}`],
    textOf: ({ parameters: { unit } }) => unit,
    goesDown: true,
  },
  warnings: ({ parameters: { restarts } }) => thresholdWarnings({ restarts }),
  requiredPermissions: ({ parameters }) => ({ run: [commandOf(parameters)] }),
};

async function observeSystemdUnit(
  check: CheckOf<"systemd_unit">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  if (context.system.platform !== "linux") return unknownResult("systemd runs on Linux only");
  const properties = "Id,LoadState,ActiveState,SubState,Result,NRestarts";
  const printed = await runSystemCommand({
    path: commandOf(parameters),
    arguments: ["show", "--no-pager", `--property=${properties}`, "--", parameters.unit],
    timeoutMs,
  }, context);
  if (typeof printed !== "string") return printed;
  const units = readUnits(printed);
  return units === null
    ? unknownResult(`systemctl printed no state of "${parameters.unit}"`)
    : evaluate(units, parameters);
}

function commandOf({ command }: SystemdUnitParameters): string {
  return command ?? "/usr/bin/systemctl";
}

interface Unit {
  readonly id: string;
  /** Such as `loaded`, `not-found` or `masked`. */
  readonly loadState: string;
  /** Such as `active`, `inactive` or `failed`. */
  readonly activeState: string;
  /** Such as `running` or `auto-restart`. */
  readonly subState: string;
  /** Why it failed, such as `exit-code`; empty for units that are no services. */
  readonly result: string;
  /** `null`: its number is not printed, since it is no service, or systemd is older than 235. */
  readonly restarts: number | null;
}

/** Reads `systemctl show`: lines `Name=value` in any order, units separated by empty lines. `null`: a part is no unit. */
function readUnits(text: string): readonly Unit[] | null {
  const blocks = text.split(/\n\s*\n/).filter((block) => block.trim() !== "");
  const units = blocks.flatMap((block) => {
    const values = new Map(
      block.split("\n").map((line) => {
        const end = line.indexOf("=");
        return [line.slice(0, end), line.slice(end + 1)] as const;
      }),
    );
    const [id = "", activeState = ""] = [values.get("Id"), values.get("ActiveState")];
    return id === "" || activeState === "" ? [] : [{
      id,
      activeState,
      loadState: values.get("LoadState") ?? "",
      subState: values.get("SubState") ?? "",
      result: values.get("Result") ?? "",
      restarts: /^\d+$/.test(values.get("NRestarts") ?? "") ? Number(values.get("NRestarts")) : null,
    }];
  });
  return units.length === blocks.length ? units : null;
}

const UNITS_SHOWN_MAX = 5;

function evaluate(all: readonly Unit[], parameters: SystemdUnitParameters): CheckResult {
  const { unit: name, state, asWarning, restarts: thresholds } = parameters;
  const violation: Condition = asWarning ? "warning" : "critical";
  const isPattern = /[*?[]/.test(name);
  // Others may refer to units that do not exist.
  const units = isPattern ? all.filter(({ loadState }) => loadState !== "not-found") : all;
  if (units.length === 0) {
    return isPattern
      ? checkResult(violation, `no loaded unit matches "${name}"`)
      : unknownResult(`systemctl printed no state of "${name}"`);
  }
  const wrong = units.filter((unit) => !isExpected(unit, state));
  const value = Math.max(...units.map((unit) => unit.restarts ?? 0));
  const restarts = evaluateMeasures([{ name: "restarts", value, unit: "number", thresholds }]);
  const uncounted = Object.keys(thresholds).length === 0
    ? undefined
    : units.find((unit) => unit.restarts === null && unit.id.endsWith(".service"));
  const lines = wrong.map((unit) => `${describeUnit(unit)}, expected ${STATES[state].words}`);
  return {
    condition: highestSeverity([
      wrong.length > 0 ? violation : "ok",
      restarts.condition,
      uncounted === undefined ? "ok" : "unknown",
    ]),
    output: [
      ...lines.length > 0 ? firstItems(lines, UNITS_SHOWN_MAX) : [describeExpected(units, state)],
      restarts.output,
      ...uncounted === undefined ? [] : [`systemctl printed no restarts of ${uncounted.id}`],
    ].join("; "),
    detail: lines.length > UNITS_SHOWN_MAX ? lines.join("\n") : "",
    metrics: { units: units.length, units_unexpected: wrong.length, ...restarts.metrics },
    performanceData: "",
    ...!isPattern && { units: units.map(({ id }) => id) },
  };
}

const STATES: Readonly<
  Record<SystemdUnitParameters["state"], { readonly words: string; readonly expected: RegExp }>
> = {
  active: { words: "active", expected: /^(?:active|reloading|refreshing)$/ },
  not_failed: {
    words: "not failed",
    expected: /^(?:active|reloading|refreshing|inactive|activating|deactivating|maintenance)$/,
  },
};

/** A unit that waits to be started again has failed, too. */
function isExpected({ loadState, activeState, subState }: Unit, state: SystemdUnitParameters["state"]) {
  return loadState !== "not-found" && !subState.startsWith("auto-restart") &&
    STATES[state].expected.test(activeState);
}

function describeUnit({ id, loadState, activeState, subState, result }: Unit): string {
  if (loadState === "not-found") return `${id} does not exist`;
  const reason = activeState === "failed" && result !== "" && result !== "success" ? result : subState;
  return `${id} is ${activeState}${reason === "" || reason === activeState ? "" : ` (${reason})`}`;
}

function describeExpected(units: readonly Unit[], state: SystemdUnitParameters["state"]): string {
  const [only] = units;
  if (units.length === 1 && only !== undefined) return describeUnit(only);
  return `${units.length} units are ${STATES[state].words}`;
}
