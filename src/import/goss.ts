import { hideInAddress } from "../config/credentials.ts";
import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBoolean,
  asNumber,
  asObject,
  asText,
  escapePlaceholders,
  fieldOf,
  type Foreign,
  isForeign,
} from "./foreign_value.ts";
import { importError, parseYaml } from "./foreign_text.ts";
import { commandCheck, fileCheck, type GossContext, scriptCheck } from "./goss_scripts.ts";
import { dnsCheck, httpCheck, tcpCheck, tcpPortCheck } from "./goss_network.ts";
import type { Importer } from "./importer.ts";
import { intervalText } from "./span_text.ts";

export const gossImporter: Importer = {
  expects: 'a gossfile in YAML or JSON, rendered with "goss render"',
  translate: async (file, draft) => {
    const root = escapePlaceholders(await parseYaml(file));
    if (!isForeign(root)) {
      throw importError(file, "it is not a mapping", { hint: `expected ${gossImporter.expects}` });
    }
    for (const [type, resources] of Object.entries(root)) {
      const translate = RESOURCES[type];
      for (const [key, value] of Object.entries(asObject(resources))) {
        translateResource(`${type} "${shownKey(key)}"`, {
          key,
          resource: asObject(value),
          draft,
          translate,
          type,
        });
      }
    }
  },
};

/** The key of a resource is its URL or command unless an attribute has it. */
function shownKey(key: string): string {
  return hideInAddress(key).replaceAll(
    /(--?[\w-]*(?:pass|token|secret|key)[\w-]*[=\s]\s*)\S+/gi,
    "$1(hidden)",
  );
}

type Translate = (key: string, context: GossContext) => written.Check | string;

function translateResource(
  item: string,
  { key, resource, draft, translate, type }: {
    readonly key: string;
    readonly resource: Foreign;
    readonly draft: ConfigDraft;
    readonly translate: Translate | undefined;
    readonly type: string;
  },
): void {
  const reason = LEFT_OUT[type];
  if (translate === undefined) return draft.leaveOut(item, null, reason ?? "no counterpart");
  const context = { resource, item, name: `${type} ${shownKey(key)}`, draft };
  const check = translate(key, context);
  if (typeof check === "string") return draft.leaveOut(item, null, check);
  const handled = new Set([...HANDLED, ...KEYS[type] ?? []]);
  for (const name of Object.keys(resource)) {
    if (!handled.has(name)) draft.leaveOut(item, name, "no counterpart; use a script check");
  }
  const timeoutMs = asNumber(fieldOf(resource, "timeout"));
  draft.addCheck(context.name, {
    title: asText(fieldOf(resource, "title")) ?? context.name,
    tags: [type],
    ...(asBoolean(fieldOf(resource, "skip")) === true && { active: false }),
    ...(timeoutMs !== undefined && timeoutMs > 0 &&
      { timeout: intervalText(1000 * Math.ceil(timeoutMs / 1000)) }),
    ...check,
  });
}

const HANDLED: readonly string[] = ["title", "meta", "skip", "timeout", "retry_count", "retry_delay"];

const LEFT_OUT: Readonly<Record<string, string>> = {
  gossfile: "import the included file by itself, or render it first",
  matching: "values of a template are not checked",
  package: "use a script check with the package manager",
  "kernel-param": "use a script check with sysctl",
};

/** The translated keys of a resource; the rest is listed. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  addr: ["reachable", "address"],
  command: ["exec", "exit-status", "stdout", "stderr"],
  dns: ["resolvable", "resolve", "addrs", "server"],
  file: ["exists", "path", "filetype", "contents"],
  group: ["exists", "groupname"],
  http: [
    ...[
      "status",
      "url",
      "method",
      "body",
      "headers",
      "request-headers",
      "request-body",
      "no-follow-redirects",
    ],
    ...["allow-insecure", "username", "password", "ca-file", "cert-file", "key-file"],
  ],
  interface: ["exists", "name"],
  mount: ["exists", "mountpoint"],
  port: ["listening", "port", "ip"],
  process: ["running", "comm"],
  service: ["running", "name", "enabled"],
  user: ["exists", "username"],
};

const RESOURCES: Readonly<Record<string, Translate>> = {
  addr: tcpCheck,
  command: commandCheck,
  dns: dnsCheck,
  file: fileCheck,
  group: (key, { resource }) =>
    scriptCheck(
      ["getent", "group", asText(fieldOf(resource, "groupname")) ?? key],
      fieldOf(resource, "exists"),
    ),
  http: httpCheck,
  interface: (key, { resource }) =>
    scriptCheck(
      ["test", "-e", `/sys/class/net/${asText(fieldOf(resource, "name")) ?? key}`],
      fieldOf(resource, "exists"),
    ),
  mount: (key, { resource }) =>
    scriptCheck(
      ["mountpoint", "-q", asText(fieldOf(resource, "mountpoint")) ?? key],
      fieldOf(resource, "exists"),
    ),
  port: tcpPortCheck,
  process: processCheck,
  service: serviceCheck,
  user: (key, { resource }) =>
    scriptCheck(
      ["getent", "passwd", asText(fieldOf(resource, "username")) ?? key],
      fieldOf(resource, "exists"),
    ),
};

function processCheck(key: string, { resource }: GossContext): written.Check | string {
  const isRunning = asBoolean(fieldOf(resource, "running")) ?? true;
  return {
    kind: "process",
    parameters: {
      name: asText(fieldOf(resource, "comm")) ?? key,
      ...(!isRunning && { count: { critical_above: 0 } }),
    },
  };
}

function serviceCheck(key: string, { resource, draft, item }: GossContext): written.Check | string {
  const isRunning = asBoolean(fieldOf(resource, "running"));
  if (isRunning === undefined) return "running is not expected, and systemd_unit checks nothing else";
  if (!isRunning) return "systemd_unit cannot expect a unit that does not run";
  if (fieldOf(resource, "enabled") !== undefined) {
    draft.leaveOut(item, "enabled", "systemd_unit checks the state only");
  }
  return { kind: "systemd_unit", parameters: { unit: asText(fieldOf(resource, "name")) ?? key } };
}
