import { type Command, EXIT, formatOption, OPTION, option } from "../command_definition.ts";
import { dirname, resolve } from "node:path";
import { NET_ALL, PERMISSION_CLASSES } from "../../domain/runtime_permissions.ts";
import type { System } from "../../domain/system.ts";
import {
  groupPermissions,
  missingPermissions,
  permissionFlags,
  type RequiredPermission,
} from "../../permissions/required_permissions.ts";
import {
  type CommandContext,
  type OpenConfig,
  openConfig,
  readSelection,
  refuseLacks,
  selectChecks,
} from "../open_config.ts";
import { listenOf, permissionsOfConfig, PROXY_VARIABLES } from "../config_permissions.ts";
import { MissingPermissionsError } from "../failure.ts";
import { shellWord } from "../../shared/text.ts";
import { warn } from "../terminal.ts";
import { bwrapCommand, sandboxOf, systemdDropIn } from "../../permissions/sandbox.ts";

const FORMATS = ["flags", "json", "deno", "systemd", "bwrap"] as const;

export const permissionsCommand: Command = {
  name: "permissions",
  group: "set_up",
  summary: "print the minimal permissions for the config",
  operands: "[NAME…]",
  operandKind: "check",
  description:
    "Prints the minimal runtime flags for the active checks of the config, or for the named or tagged ones, including " +
    "their channels and the state. With --check it prints only what the running process lacks, and exits 77.",
  page: "guides/least_privilege.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    formatOption(FORMATS, "flags, json, deno (a permission set), systemd (a drop-in) or bwrap (a command)"),
    option("--check", "comparison with the permissions of the running process"),
  ],
  examples: [
    ["monitor permissions", "print the flags on one line"],
    ["monitor permissions --format deno", 'print a set for "deno run -P=monitor"'],
    ["monitor permissions --format systemd", "print a drop-in that confines the service"],
    ["monitor permissions --check", "fail if a permission is missing"],
  ],
  endings: ["done", "name", "permission", "config"],
  run: async (invocation, system) => {
    const render = RENDERERS[invocation.choice("format", FORMATS) ?? "flags"];
    const config = await openConfig(invocation, system);
    refuseLacks(config);
    const checks = selectChecks(config.checks, readSelection(invocation))
      .filter((check) => check.active || invocation.operands.length > 0);
    const required = await permissionsOfConfig(config, { invocation, system, checks });
    if (!invocation.has("check")) {
      warnOfCautions(required, system);
      const text = await render(required, {
        ...programOf(system, required),
        arguments: argumentsOf({ invocation, system, config }),
        files: system.files,
        listen: listenOf(invocation, config)?.address ?? null,
      });
      system.stdout.write(text);
      return EXIT.ok;
    }
    warnOfProxies(required, system);
    const missing = missingPermissions(required, system.permissions);
    if (missing.length > 0) throw new MissingPermissionsError(missing, system);
    return EXIT.ok;
  },
};

interface RenderContext {
  /** Absolute path of the executable; from source, the command of the runtime. */
  readonly program: readonly string[];
  /** The source files that the runtime reads, absolute paths. */
  readonly source: readonly string[];
  /** The arguments of a service with the same config, state and checks. */
  readonly arguments: readonly string[];
  readonly files: System["files"];
  /** The address of the HTTP endpoint; `null`: none. */
  readonly listen: string | null;
}

type Render = (required: readonly RequiredPermission[], context: RenderContext) => string | Promise<string>;

const RENDERERS: Readonly<Record<typeof FORMATS[number], Render>> = {
  flags: (required) =>
    `${["--no-prompt", ...permissionFlags(groupPermissions(required))].map(shellWord).join(" ")}\n`,
  json: (required) => {
    const machine_specific = required.flatMap(({ isOfMachine = false, value }) => isOfMachine ? [value] : []);
    return `${JSON.stringify({ ...groupPermissions(required), machine_specific }, null, 2)}\n`;
  },
  deno: (required) => {
    const groups = Object.entries(groupPermissions(required));
    const set = groups.map(([name, values]) => [name, values.includes(NET_ALL) ? true : values]);
    return `${JSON.stringify({ permissions: { monitor: Object.fromEntries(set) } }, null, 2)}\n`;
  },
  systemd: (required, context) => sandboxed(systemdDropIn, required, context),
  bwrap: (required, context) => sandboxed(bwrapCommand, required, context),
};

async function sandboxed(
  write: typeof bwrapCommand,
  required: readonly RequiredPermission[],
  { program, source, arguments: words, ...context }: RenderContext,
): Promise<string> {
  const sandbox = await sandboxOf(groupPermissions(required), context);
  return write({ ...sandbox, readOnly: [...sandbox.readOnly, ...source] }, [...program, ...words]);
}

function programOf(
  { executable, sourceModule, environment }: System,
  required: readonly RequiredPermission[],
): Pick<RenderContext, "program" | "source"> {
  if (sourceModule === null) return { program: [executable], source: [] };
  const flags = permissionFlags(groupPermissions(required));
  const caches = environment("XDG_CACHE_HOME") ?? `${environment("HOME") ?? ""}/.cache`;
  return {
    program: [executable, "run", "--quiet", "--no-prompt", ...flags, sourceModule],
    source: [dirname(sourceModule), environment("DENO_DIR") ?? `${caches}/deno`],
  };
}

function argumentsOf(
  { invocation, system, config }: CommandContext & { readonly config: OpenConfig },
): readonly string[] {
  const path = config.sources[0]?.path ?? null;
  const state = invocation.text("state");
  return [
    "check",
    ...path === null ? [] : ["--config", resolve(system.workingDirectory, path)],
    // The URL of a database may contain a password.
    ...state === undefined || state.includes("://")
      ? []
      : ["--state", state === "none" ? state : resolve(system.workingDirectory, state)],
    ...invocation.texts("tag").flatMap((tag) => ["--tag", tag]),
    ...invocation.operands,
  ];
}

function warnOfCautions(required: readonly RequiredPermission[], system: System): void {
  const texts = required.flatMap(({ caution, neededBy }) =>
    caution === undefined ? [] : [`${neededBy}: ${caution}`]
  );
  for (const text of new Set(texts)) warn(text, system);
}

/** The runtime connects to the proxy, whatever hosts are granted. */
function warnOfProxies(required: readonly RequiredPermission[], system: System): void {
  if (required.some(({ permission }) => permission === "net")) {
    for (const name of PROXY_VARIABLES.filter((variable) => system.environment(variable))) {
      warn(`${name} is set: requests may use this proxy, whatever hosts are granted`, system);
    }
  }
  const whole = PERMISSION_CLASSES.filter((permission) => system.permissions.isGranted(permission));
  if (whole.length === 0) return;
  warn(
    `more permissions than the config needs: ${whole.map((name) => `--allow-${name}`).join(", ")}`,
    system,
  );
}
