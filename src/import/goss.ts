import type * as written from "../domain/generated/written_config.ts";
import { hideInAddress } from "../config/credentials.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import { asList, asText, Foreign, isObject, parseMapping } from "./foreign_text.ts";
import { dnsLookup, dnsServerIn, escapePattern, intervalText, parseServer } from "./span_text.ts";

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
  const timeoutMs = resource.number("timeout") ?? 0;
  draft.addCheck(item.name, {
    ...{ title: resource.text("title") ?? item.name, tags: [type] },
    ...(resource.boolean("skip") === true && { active: false }),
    ...(timeoutMs > 0 && { timeout: intervalText(1000 * Math.ceil(timeoutMs / 1000)) }),
    ...check,
  });
}

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

function existence(attribute: string, wordsFor: (name: string) => readonly string[]): Translate {
  return (key, resource) =>
    scriptCheck(wordsFor(resource.text(attribute) ?? key), resource.boolean("exists") ?? true);
}

function processCheck(key: string, resource: Foreign): written.Check {
  const isRunning = resource.boolean("running") ?? true;
  return {
    kind: "process",
    parameters: { name: resource.text("comm") ?? key, ...(!isRunning && { count: { critical_above: 0 } }) },
  };
}

function serviceCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  const isRunning = resource.boolean("running");
  if (isRunning === undefined) return "running is not expected, and systemd_unit checks nothing else";
  if (!isRunning) return "systemd_unit cannot expect a unit that does not run";
  if (resource.has("enabled")) item.leaveOut("enabled", "systemd_unit checks the state only");
  return { kind: "systemd_unit", parameters: { unit: resource.text("name") ?? key } };
}

function httpCheck(key: string, resource: Foreign, item: SourceItem): written.Check {
  const text = (field: string) => resource.text(field);
  const expected = resource.number("status");
  if (resource.has("status") && expected === undefined) item.leaveOut("status", "an advanced matcher");
  const isExpected = resource.texts("headers").length > 0;
  if (isExpected) item.leaveOut("headers", "write response.headers, by name and value");
  const headers = Object.fromEntries(
    resource.texts("request-headers").map((line) => {
      const [header = "", ...value] = line.split(":");
      return [header.trim(), value.join(":").trim()];
    }),
  );
  const login = { username: text("username"), password: text("password") };
  const [ca, certificate, clientKey] = [text("ca-file"), text("cert-file"), text("key-file")];
  const tls = (ca ?? certificate) === undefined ? undefined : { ca_file: ca, certificate, key: clientKey };
  const isInsecure = resource.boolean("allow-insecure");
  if (isInsecure && tls) item.leaveOut("allow-insecure", "cannot be used with the certificate files");
  const { part, pattern } = firstPatterns(["body", "body_pattern"], resource, item);
  return {
    kind: "http_request",
    parameters: {
      request: item.request(text("url") ?? key, {
        ...{ login, method: text("method"), headers, body: resource.body("request-body"), tls, isInsecure },
        refusesRedirects: resource.boolean("no-follow-redirects"),
      }),
      response: { status_code: expected ?? null, body_part: part, body_pattern: pattern },
    },
  };
}

function tcpCheck(key: string, resource: Foreign): written.Check | string {
  const address = resource.text("address") ?? key;
  if (!address.startsWith("tcp://")) return "only tcp:// has a counterpart";
  if (resource.boolean("reachable") === false) return "a check cannot expect a failed connection";
  const place = parseServer(address.slice("tcp://".length));
  return place === null ? "the address has no host and port" : { kind: "tcp_connect", parameters: place };
}

function tcpPortCheck(key: string, resource: Foreign): written.Check | string {
  const [, protocol, port] = /^(tcp6?):(\d+)$/.exec(resource.text("port") ?? key) ?? [];
  if (port === undefined) return "only TCP has a counterpart";
  if (resource.boolean("listening") === false) return "a check cannot expect a failed connection";
  const [address] = resource.texts("ip").filter((ip) => ip !== "0.0.0.0" && ip !== "::");
  const host = address ?? (protocol === "tcp6" ? "::1" : "127.0.0.1");
  return { kind: "tcp_connect", parameters: { host, port: Number(port) } };
}

function dnsCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  if (resource.boolean("resolvable") === false) return "a check cannot expect a missing name";
  const [, type = "A", name = ""] = /^(?:([A-Z]+):)?(.+)$/.exec(resource.text("resolve") ?? key) ?? [];
  const server = dnsServerIn(resource.text("server") ?? "");
  if (server === undefined) item.leaveOutSet(resource, { server: "server must be an IP address" });
  const contains = resource.texts("addrs").filter((address) => type !== "A" || !address.includes(":"))
    .map((address) => address.replace(/\.$/, ""));
  if (contains.length === 0 && resource.has("addrs")) item.leaveOut("addrs", "no list of records");
  return dnsLookup(name, { type, server, contains });
}

/** Reads expected patterns, each a text or a `/regular expression/`; those without a counterpart are listed. */
function readPatterns(key: string, resource: Foreign, item: SourceItem) {
  const value = resource.get(key);
  const texts: string[] = [];
  const expressions: string[] = [];
  if (isObject(value)) item.leaveOut(key, "an advanced matcher");
  for (const entry of isObject(value) ? [] : asList(value)) {
    const text = asText(entry);
    const [, expression] = /^\/(.*)\/$/s.exec(text ?? "") ?? [];
    if (text === undefined) item.leaveOut(key, "an empty text or an advanced matcher");
    else if (text.startsWith("!")) item.leaveOut(key, `${text}: a text that must be missing`);
    else if (expression !== undefined) expressions.push(expression);
    else texts.push(text.replace(/^\\(?=[!/\\])/, ""));
  }
  return { texts, expressions };
}

/** The first text and the first expression. The rest is listed under the name of the key for an expression. */
function firstPatterns([key, patternKey]: readonly [string, string], resource: Foreign, item: SourceItem) {
  const { texts: [part, ...otherTexts], expressions } = readPatterns(key, resource, item);
  // An expression is free for a second text.
  const [expression, ...others] = [...expressions, ...otherTexts.map(escapePattern)];
  for (const other of others) item.leaveOut(key, `${other}: a check has one ${patternKey}`);
  return { part, pattern: expression && `(?m)${expression}` };
}

type ExitCodes = written.ScriptParameters["exit_code_conditions"];

/** Only exit code 0 is ok; a tool of the system has no severities. */
const FAILURE_CODES: ExitCodes = { "1": "critical", "2": "critical", "3": "critical", "32": "critical" };
const ABSENCE_CODES: ExitCodes = { "0": "critical", "1": "ok", "2": "ok", "32": "ok" };

function scriptCheck([path = "", ...args]: readonly string[], isExpected: boolean): written.Check {
  const exit_code_conditions = isExpected ? FAILURE_CODES : ABSENCE_CODES;
  return { kind: "script", parameters: { path, arguments: args, exit_code_conditions } };
}

const FILE_TESTS: Readonly<Record<string, string>> = { directory: "-d", symlink: "-L", socket: "-S" };

function fileCheck(key: string, resource: Foreign, item: SourceItem): written.Check {
  const path = resource.text("path") ?? key;
  const type = resource.text("filetype");
  const isExpected = resource.boolean("exists") ?? true;
  if (!isExpected || type !== undefined && type !== "file") {
    return scriptCheck(["test", type === "file" ? "-f" : FILE_TESTS[type ?? ""] ?? "-e", path], isExpected);
  }
  const { texts, expressions } = readPatterns("contents", resource, item);
  const [pattern, ...others] = [...texts.map(escapePattern), ...expressions].map((one) => `(?m)${one}`);
  for (const other of others) {
    item.draft.addCheck(`file ${key} contents`, {
      title: `${item.label} contains ${other}`,
      tags: ["file"],
      kind: "file",
      parameters: { path, content_pattern: other },
    });
  }
  const owner = resource.text("owner");
  return {
    kind: "file",
    parameters: {
      ...{ path, mode: resource.text("mode") },
      ...{ owner: owner !== undefined && /^\d+$/.test(owner) ? Number(owner) : owner },
      ...{ sha256: resource.text("sha256"), content_pattern: pattern },
    },
  };
}

function commandCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  const status = resource.has("exit-status") ? resource.number("exit-status") : 0;
  if (status === undefined) return "exit-status is an advanced matcher";
  if (resource.texts("stderr").length > 0) item.leaveOut("stderr", "script checks stdout");
  const { part, pattern } = firstPatterns(["stdout", "output_pattern"], resource, item);
  return {
    kind: "script",
    parameters: {
      ...{ path: "/bin/sh", arguments: ["-c", item.commandLine(resource.text("exec") ?? key)] },
      exit_code_conditions: {
        ...{ "0": "critical", "1": "critical", "2": "critical", "3": "critical", "127": "critical" },
        [String(status)]: "ok",
      },
      ...{ output_part: part, output_pattern: pattern },
    },
  };
}
