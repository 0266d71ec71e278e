import { maintenanceWindow } from "./daily_window.ts";
import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBoolean,
  asList,
  asObject,
  asText,
  asTexts,
  fieldOf,
  type Foreign,
  isForeign,
  mapTexts,
} from "./foreign_value.ts";
import { importError, parseYaml } from "./foreign_text.ts";
import { alertSettings, type Providers, readProviders } from "./gatus_alerting.ts";
import { translatePage } from "./gatus_page.ts";
import { translateSuite } from "./gatus_suites.ts";
import { translateTarget } from "./gatus_targets.ts";
import type { Importer } from "./importer.ts";
import { intervalText, parseGoDuration } from "./span_text.ts";

export const gatusImporter: Importer = {
  expects: 'a config of Gatus in YAML with "endpoints"',
  translate: async (file, draft) => {
    const config = await parseYaml(file);
    if (!isForeign(config)) {
      throw importError(file, "it is not a mapping", { hint: `expected ${gatusImporter.expects}` });
    }
    translate(asObject(mapTexts(config, readVariables)), draft);
  },
};

/** Gatus replaces `$NAME` and `${NAME}` by variables, and `$$` by `$`. */
function readVariables(text: string): string {
  return text.replaceAll(
    /\$\$(\{?)|\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))|\$\{/g,
    (whole, brace, inBraces, plain) => {
      const name = inBraces ?? plain;
      if (name !== undefined) return `\${env:${name}}`;
      return brace === "{" || whole === "${" ? "$${" : "$";
    },
  );
}

/** Keys at the top that are about Gatus itself. */
const OWN_KEYS: Readonly<Record<string, string>> = {
  connectivity: "use a check that others name in depends_on",
  remote: "no counterpart",
  security: "the HTTP endpoint has a token: set listen.token",
  storage: "set state, if the default place does not suit",
  tunneling: "no counterpart",
  web: "set listen for the live view",
};

function translate(config: Foreign, draft: ConfigDraft): void {
  const providers = readProviders(asObject(fieldOf(config, "alerting")), draft);
  for (const [key, reason] of Object.entries(OWN_KEYS)) {
    if (fieldOf(config, key) !== undefined) draft.leaveOut("config", key, reason);
  }
  translatePage(config, draft);
  const maintenance = fieldOf(config, "maintenance");
  const windows = readWindows(maintenance, { item: "config", key: "maintenance", draft });
  if (windows.length > 0) draft.settings.maintenance_windows = windows;
  for (const endpoint of asList(fieldOf(config, "endpoints"))) {
    translateEndpoint(asObject(endpoint), { providers, draft });
  }
  for (const suite of asList(fieldOf(config, "suites"))) {
    translateSuite(asObject(suite), { providers, draft });
  }
  for (const endpoint of asList(fieldOf(config, "external-endpoints"))) {
    translateExternal(asObject(endpoint), { providers, draft });
  }
}

interface Context {
  readonly providers: Providers;
  readonly draft: ConfigDraft;
}

/** The common keys of regular and external endpoints. */
function commonOf(
  endpoint: Foreign,
  item: string,
  { providers, draft }: Context,
): written.CheckSettings {
  const group = asText(fieldOf(endpoint, "group"));
  const windows = readWindows(fieldOf(endpoint, "maintenance-windows"), {
    item,
    key: "maintenance-windows",
    draft,
  });
  return {
    title: asText(fieldOf(endpoint, "name")),
    ...(group !== undefined && { tags: [group] }),
    ...(asBoolean(fieldOf(endpoint, "enabled")) === false && { active: false }),
    ...alertSettings(fieldOf(endpoint, "alerts"), { item, providers, draft }),
    ...(windows.length > 0 && { maintenance_windows: windows }),
  };
}

function nameOf(endpoint: Foreign): string {
  const name = asText(fieldOf(endpoint, "name")) ?? "";
  const group = asText(fieldOf(endpoint, "group"));
  return group === undefined ? name : `${group} ${name}`;
}

function translateEndpoint(endpoint: Foreign, context: Context): void {
  const { draft } = context;
  const name = nameOf(endpoint);
  const item = `endpoint "${name}"`;
  const target = translateTarget(endpoint, { item, name, draft });
  if ("reason" in target) return draft.leaveOut(item, null, target.reason);
  const client = asObject(fieldOf(endpoint, "client"));
  for (const [key, reason] of Object.entries(CLIENT_KEYS)) {
    const value = fieldOf(client, key);
    if (value !== undefined && value !== false) draft.leaveOut(item, `client.${key}`, reason);
  }
  if (fieldOf(endpoint, "extra-labels") !== undefined) {
    draft.leaveOut(item, "extra-labels", "metrics have fixed labels");
  }
  const interval = asText(fieldOf(endpoint, "interval")) ?? "60s";
  const intervalMs = parseGoDuration(interval);
  if (intervalMs === null) draft.leaveOut(item, "interval", "not a duration");
  const timeout = asText(fieldOf(client, "timeout"));
  const timeoutMs = timeout === undefined ? null : parseGoDuration(timeout);
  draft.addCheck(name, {
    ...commonOf(endpoint, item, context),
    ...(intervalMs !== null && { schedule: { regular_interval: intervalText(intervalMs) } }),
    ...(timeoutMs !== null && { timeout: intervalText(timeoutMs) }),
    ...target,
  });
}

const CLIENT_KEYS: Readonly<Record<string, string>> = {
  insecure:
    "certificates are always verified, so the check cannot pass without ca_file; or use tls_certificate with fingerprint",
  "dns-resolver": "names are resolved by the machine",
  oauth2: "write an http_request check with steps",
  "proxy-url": "set HTTP_PROXY or HTTPS_PROXY",
  "identity-aware-proxy": "no counterpart",
  network: "ping chooses the address family",
  tunnel: "no counterpart",
  "store-cookies": "cookies are kept between the steps of a check only",
};

function translateExternal(endpoint: Foreign, context: Context): void {
  const { draft } = context;
  const name = nameOf(endpoint);
  const item = `external endpoint "${name}"`;
  const interval = asText(fieldOf(asObject(fieldOf(endpoint, "heartbeat")), "interval")) ?? "";
  const intervalMs = parseGoDuration(interval);
  if (intervalMs === null || intervalMs === 0) {
    return draft.leaveOut(item, null, "it has no heartbeat.interval, which a job check requires");
  }
  draft.leaveOut(item, "token", "pushes become POST /ping/KEY, with a new key of at least 16 characters");
  draft.addCheck(name, {
    ...commonOf(endpoint, item, context),
    kind: "job",
    parameters: {
      expected_every: intervalText(intervalMs),
      ping_key: draft.pingKey(name, item),
    },
  });
}

function readWindows(
  value: unknown,
  { item, key, draft }: { readonly item: string; readonly key: string; readonly draft: ConfigDraft },
): readonly written.Window[] {
  return asList(value).map(asObject).flatMap((window) => {
    if (asBoolean(fieldOf(window, "enabled")) === false) return [];
    const found = maintenanceWindow({
      start: asText(fieldOf(window, "start")) ?? "",
      durationMs: parseGoDuration(asText(fieldOf(window, "duration")) ?? "") ?? 0,
      days: asTexts(fieldOf(window, "every")),
      timeZone: asText(fieldOf(window, "timezone")),
    });
    if (found === null) draft.leaveOut(item, key, "a window has a start and lasts less than a day");
    return found ?? [];
  });
}
