/** The messages that a user reads of a config that does not load, lacks something on this machine, or is doubtful. */
import assert from "node:assert/strict";
import { ConfigError, type PlacedProblem } from "../../src/config/problem.ts";
import { SECRET_BYTES_MAX } from "../../src/config/placeholders.ts";
import { TEMPLATE_FIELDS } from "../../src/shared/template.ts";
import { load, type LoadTestOptions } from "../../testing/config_system.ts";
import { MESSAGE_CASES } from "./message_cases.ts";
import monitorSchema from "../../schemas/monitor.schema.json" with { type: "json" };

const KINDS = monitorSchema.$defs.check.properties.kind.enum.map((kind) => `"${kind}"`).join(", ");
const SECRET = "swordfish";
const MACHINE = {
  environment: {
    PATH: "/bin",
    TOKEN: SECRET,
    TWO_LINES: `${SECRET}\n`,
    SHORT: "abc",
    PORT: "25",
    HOST: "h",
    KIND: "test",
    PLACE: `/$${SECRET.toUpperCase()}`,
  },
  forbidden: ["FORBIDDEN"],
  files: {
    "/etc/monitor/secret.txt": SECRET,
    "/etc/monitor/template.txt": `{{${SECRET}}}`,
    "/etc/monitor/filter.txt": `{{output | ${SECRET}}}`,
    "/etc/monitor/directory": { kind: "directory" },
    "/etc/monitor/check.sh": { mode: 0o755 },
    "/etc/monitor/ca.prom": "",
    "/a/b?c=d@e": SECRET,
    "/large": { sizeBytes: SECRET_BYTES_MAX + 1 },
    "/denied": new Deno.errors.PermissionDenied("Permission denied (os error 13)"),
    "/forbidden": new Deno.errors.NotCapable("Requires read access"),
    ...Object.fromEntries(["/$HOME", "/*", "/e "].map((path) => [path, ""])),
  },
} as const;

for (const { name, config, files, messages } of MESSAGE_CASES) {
  Deno.test(`loadConfig(): ${name}`, async () => {
    const found = await messagesOf(config, {
      ...MACHINE,
      files: {
        ...MACHINE.files,
        ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`/etc/monitor/${path}`, text])),
      },
      mode: Number.parseInt(/mode (\d+)/.exec(name)?.[1] ?? "600", 8),
      shape: /profile ([ab])/.exec(name)?.[1] as "a" | "b" | undefined ?? "monitor",
      withoutSecrets: name.includes("without secrets"),
    });
    assert.deepEqual(found, messages);
    assert.doesNotMatch(found.join(), new RegExp(SECRET, "i"));
  });
}

async function messagesOf(config: string, options: LoadTestOptions): Promise<readonly string[]> {
  try {
    const locateState: LoadTestOptions["locateState"] = ({ statePath }) =>
      Promise.resolve(statePath ?? "/elsewhere");
    const { warnings, placed } = await load(config, { ...options, locateState });
    return placed(warnings).map(show("warning"));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(show("error"));
  }
}

function show(severity: string): (problem: PlacedProblem) => string {
  return ({ source, line, column, path, message, hint }) => {
    const file = source?.path?.replace("/etc/monitor/", "") ?? "monitor.jsonc";
    const place = [...file === "monitor.jsonc" ? [] : [file], line, column].join(":");
    return `${severity} ${[place, path].join(" ").trimEnd()}: ${message}${hint === null ? "" : ` → ${hint}`}`
      .replace(KEYS, "$1, …").replaceAll(KINDS, "[kinds]").replaceAll(TEMPLATE_FIELDS.join(", "), "[fields]");
  };
}

/** The keys of the config, of `defaults`, a check and a notification, which become more; the first two stay. */
const KEYS =
  /(?<=one of )(\$schema, include|tags, active|title, description|kind, parameters), [\w, ]*?\w(?=$| →)/;
