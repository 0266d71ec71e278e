import { hideInAddress } from "../config/credentials.ts";
import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { Foreign } from "./foreign_value.ts";
import { parseMapping } from "./foreign_text.ts";
import { commandCheck, fileCheck, scriptCheck } from "./goss_scripts.ts";
import { dnsCheck, httpCheck, tcpCheck, tcpPortCheck } from "./goss_network.ts";
import type { Importer } from "./importer.ts";
import { SourceItem } from "./source_item.ts";
import { intervalText } from "./span_text.ts";

export const gossImporter: Importer = {
  expects: 'a gossfile in YAML or JSON, rendered with "goss render"',
  translate: async (file, draft) => {
    const root = (await parseMapping(file, gossImporter.expects)).escapePlaceholders();
    for (const [type, resources] of root.entries) {
      for (const [key, value] of Foreign.of(resources).entries) {
        translateResource(Foreign.of(value), { type, key, draft });
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

function translateResource(
  resource: Foreign,
  { type, key, draft }: { readonly type: string; readonly key: string; readonly draft: ConfigDraft },
): void {
  const item = new SourceItem(draft, `${type} "${shownKey(key)}"`, `${type} ${shownKey(key)}`);
  const check = RESOURCES[type]?.(key, resource, item) ?? LEFT_OUT[type] ?? "no counterpart";
  if (typeof check === "string") return item.leaveOut(null, check);
  for (const name of resource.unread) {
    if (!IGNORED.includes(name)) item.leaveOut(name, "no counterpart; use a script check");
  }
  const timeoutMs = resource.number("timeout");
  draft.addCheck(item.name, {
    title: resource.text("title") ?? item.name,
    tags: [type],
    ...(resource.boolean("skip") === true && { active: false }),
    ...(timeoutMs !== undefined && timeoutMs > 0 &&
      { timeout: intervalText(1000 * Math.ceil(timeoutMs / 1000)) }),
    ...check,
  });
}

/** Attributes of every resource. */
const IGNORED: readonly string[] = ["title", "meta", "skip", "timeout", "retry_count", "retry_delay"];

const LEFT_OUT: Readonly<Record<string, string>> = {
  gossfile: "import the included file by itself, or render it first",
  matching: "values of a template are not checked",
  package: "use a script check with the package manager",
  "kernel-param": "use a script check with sysctl",
};

type Translate = (key: string, resource: Foreign, item: SourceItem) => written.Check | string;

const RESOURCES: Readonly<Record<string, Translate>> = {
  addr: tcpCheck,
  command: commandCheck,
  dns: dnsCheck,
  file: fileCheck,
  group: existence("groupname", (name) => ["getent", "group", name]),
  http: httpCheck,
  interface: existence("name", (name) => ["test", "-e", `/sys/class/net/${name}`]),
  mount: existence("mountpoint", (path) => ["mountpoint", "-q", path]),
  port: tcpPortCheck,
  process: processCheck,
  service: serviceCheck,
  user: existence("username", (name) => ["getent", "passwd", name]),
};

/** A command that succeeds if the resource exists. */
function existence(attribute: string, wordsFor: (name: string) => readonly string[]): Translate {
  return (key, resource) =>
    scriptCheck(wordsFor(resource.text(attribute) ?? key), resource.boolean("exists") ?? true);
}

function processCheck(key: string, resource: Foreign): written.Check {
  const isRunning = resource.boolean("running") ?? true;
  return {
    kind: "process",
    parameters: {
      name: resource.text("comm") ?? key,
      ...(!isRunning && { count: { critical_above: 0 } }),
    },
  };
}

function serviceCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  const isRunning = resource.boolean("running");
  if (isRunning === undefined) return "running is not expected, and systemd_unit checks nothing else";
  if (!isRunning) return "systemd_unit cannot expect a unit that does not run";
  if (resource.has("enabled")) item.leaveOut("enabled", "systemd_unit checks the state only");
  return { kind: "systemd_unit", parameters: { unit: resource.text("name") ?? key } };
}
