import { NET_ALL, PERMISSION_CLASSES } from "../../domain/needs.ts";
import type { System } from "../../domain/system.ts";
import { missingNeeds, type Need } from "../../permissions/required_permissions.ts";
import {
  type Command,
  CONFIG_OPTION,
  type Invocation,
  optionValue,
  UsageError,
} from "../command_definition.ts";
import { openConfig, readSelection, refuseLacks, selectChecks, TAG_OPTION } from "../open_config.ts";
import { MissingPermissionsError, needsOfConfig, PROXY_VARIABLES } from "../config_permissions.ts";
import { EXIT } from "../exit_code.ts";
import { groupNeeds, permissionFlags, shellWord } from "../../permissions/permission_flags.ts";
import { printable } from "../../shared/printable.ts";
import { STATE_OPTION } from "../state.ts";

/** `monitor permissions`: prints what the config needs, and tells whether it is granted. */
export const permissionsCommand: Command = {
  name: "permissions",
  summary: "print the minimal permissions for the config",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Prints the minimal runtime flags for the active checks of the config, or for the named or tagged ones, including " +
    "their channels and the state. With --check it prints only what the running process lacks, and exits 77.",
  page: "guides/least_privilege.md",
  options: [
    CONFIG_OPTION,
    STATE_OPTION,
    TAG_OPTION,
    {
      name: "format",
      value: "FORMAT",
      choices: ["flags", "json", "deno"],
      description: "flags, json, or deno: a permission set for deno.json (default: flags)",
    },
    { name: "check", description: "comparison with the permissions of the running process" },
  ],
  examples: [
    ["monitor permissions", "print the flags on one line"],
    ["monitor permissions --format deno", 'print a set for "deno run -P=monitor"'],
    ["monitor permissions --check", "fail if a permission is missing"],
  ],
  endings: ["done", "name", "permission", "config"],
  run: runPermissions,
};

async function runPermissions(invocation: Invocation, system: System): Promise<number> {
  const render = readFormat(invocation);
  const config = await openConfig(invocation, system);
  refuseLacks(config);
  const checks = selectChecks(config.checks, readSelection(invocation))
    .filter((check) => check.active || invocation.operands.length > 0);
  const needs = await needsOfConfig(config, { invocation, system, checks });
  if (!invocation.options.has("check")) {
    warnOfCautions(needs, system);
    system.stdout.write(render(needs));
    return EXIT.ok;
  }
  warnOfProxies(needs, system);
  const missing = missingNeeds(needs, system.permissions);
  if (missing.length > 0) throw new MissingPermissionsError(missing, system);
  return EXIT.ok;
}

const FORMATS: Readonly<Record<string, (needs: readonly Need[]) => string>> = {
  flags: (needs) => `${["--no-prompt", ...permissionFlags(groupNeeds(needs))].map(shellWord).join(" ")}\n`,
  json: (needs) =>
    `${JSON.stringify({ ...groupNeeds(needs), machine_specific: valuesOfMachine(needs) }, null, 2)}\n`,
  deno: (needs) => `${JSON.stringify({ permissions: { monitor: denoSet(needs) } }, null, 2)}\n`,
};

function valuesOfMachine(needs: readonly Need[]): readonly string[] {
  return needs.flatMap(({ isOfMachine = false, value }) => isOfMachine ? [value] : []);
}

function denoSet(needs: readonly Need[]): Readonly<Record<string, true | readonly string[]>> {
  return Object.fromEntries(
    Object.entries(groupNeeds(needs)).map(([name, values]) => [
      name,
      values.includes(NET_ALL) ? true : values,
    ]),
  );
}

function readFormat(invocation: Invocation): (needs: readonly Need[]) => string {
  const value = optionValue(invocation, "format") ?? "flags";
  const render = Object.hasOwn(FORMATS, value) ? FORMATS[value] : undefined;
  if (render !== undefined) return render;
  throw new UsageError(`--format is "${value}", expected one of ${Object.keys(FORMATS).join(", ")}`);
}

function warnOfCautions(needs: readonly Need[], system: System): void {
  const texts = needs.flatMap(({ caution, neededBy }) =>
    caution === undefined ? [] : [`${neededBy}: ${caution}`]
  );
  for (const text of new Set(texts)) system.stderr.write(`monitor: warning: ${printable(text)}\n`);
}

/** The runtime connects to the proxy, whatever hosts are granted. */
function warnOfProxies(needs: readonly Need[], system: System): void {
  const warn = (text: string): void => system.stderr.write(`monitor: warning: ${printable(text)}\n`);
  if (needs.some(({ permission }) => permission === "net")) {
    for (const name of PROXY_VARIABLES.filter((variable) => system.environment(variable))) {
      warn(`${name} is set: requests may use this proxy, whatever hosts are granted`);
    }
  }
  const whole = PERMISSION_CLASSES.filter((permission) => system.permissions.isGranted(permission));
  if (whole.length > 0) {
    warn(
      `more permissions than the config needs: ${whole.map((name) => `--allow-${name}`).join(", ")}`,
    );
  }
}
