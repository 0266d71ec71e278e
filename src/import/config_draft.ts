import { CONFIG_BYTES_MAX } from "../config/source.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asWord, type Foreign, type ForeignFile, type IncludedFiles } from "./foreign_text.ts";
import { hideInAddress, isCredentialName } from "../config/credentials.ts";
import { printable, truncate } from "../shared/text.ts";

/** The part of a check that combines others. */
type GroupOfChecks = Extract<written.CheckByKind, { readonly kind: "group" }>;

/** Values of settings that mean nothing. */
const UNSET: readonly unknown[] = [undefined, null, false, ""];

interface LeftOut {
  /** Its owner in the source, such as `endpoint "api"`. */
  readonly item: string;
  /** The key or condition; `null`: nothing of the item is in the config. */
  readonly key: string | null;
  readonly reason: string;
}

/** Longer names are cut. */
const NAME_LENGTH_MAX = 60;
/** More are rejected: every check of a host group on every host can be very many. */
const CHECKS_MAX = 20_000;

/** The most characters of all that is not imported; services on hosts multiply it as well. */
const LEFT_OUT_LENGTH_MAX = 16 * 1024 * 1024;

/** Thrown if a file is not malformed but exceeds a limit; the message names it. */
export class ImportLimitError extends RangeError {
  override readonly name = "ImportLimitError";
}

/** A config in the making: it makes names unique, and replaces secrets by placeholders. */
export class ConfigDraft {
  readonly settings: {
    defaults: written.Defaults;
    page?: written.ConfigPage;
    maintenance_windows?: readonly written.Window[];
    connectivity?: readonly string[];
    hasCheckIns?: boolean;
  } = { defaults: {} };
  readonly #checks = new Map<string, written.Check>();
  readonly #channels = new Map<string, written.ChannelObject>();
  readonly #leftOut: LeftOut[] = [];
  readonly checks: ReadonlyMap<string, written.Check> = this.#checks;
  readonly channels: ReadonlyMap<string, written.ChannelObject> = this.#channels;
  readonly leftOut: readonly LeftOut[] = this.#leftOut;
  readonly #leftOutIds = new Set<string>();
  #leftOutLength = 0;
  /** Of the parameters of all checks, in characters. */
  #length = 0;
  readonly #variables = new Map<string, string>();
  readonly #placeholderBySecret = new Map<string, string>();
  /** How often a name was asked for, so that the next free one is found at once. */
  readonly #uses = new Map<string, number>();

  /** Adds a check under a name made from that of the source, and returns the name. */
  addCheck(sourceName: string, check: written.Check): string {
    if (this.#checks.size >= CHECKS_MAX) {
      throw new ImportLimitError(`it makes more than ${CHECKS_MAX} checks`);
    }
    const name = this.#uniqueName(plainName(sourceName), this.#checks);
    const { title = sourceName } = check;
    this.#length += JSON.stringify(check.parameters).length;
    if (this.#length > CONFIG_BYTES_MAX) throw new ImportLimitError("its config would be too large");
    const shown = title.replaceAll(/\s+/g, " ").trim();
    this.#checks.set(name, { ...check, title: shown === name || shown === "" ? undefined : shown });
    return name;
  }

  changeCheck(name: string, changes: written.CheckSettings | GroupOfChecks): void {
    const check = this.#checks.get(name);
    if (check !== undefined) this.#checks.set(name, { ...check, ...changes });
  }

  /** Adds a channel under a name made from that of the source, and returns the name. */
  addChannel(sourceName: string, channel: written.ChannelObject): string {
    const name = this.#uniqueName(plainName(sourceName), this.#channels);
    this.#channels.set(name, channel);
    return name;
  }

  /** Lists something of the source that the config does not have; `key` is `null` for a whole item. Each once. */
  leaveOut(item: string, key: string | null, reason: string): void {
    const left = { item, key, reason };
    const id = JSON.stringify(left);
    if (this.#leftOutIds.has(id)) return;
    this.#leftOutLength += id.length;
    if (this.#leftOutLength > LEFT_OUT_LENGTH_MAX) {
      throw new ImportLimitError("too much of it cannot be imported to be listed");
    }
    this.#leftOutIds.add(id);
    this.#leftOut.push(left);
  }

  /** Returns a placeholder for a secret, the same for equal ones; a value with a placeholder is returned unchanged. */
  secret(value: string, name: string, source: string): string {
    if (/(?<!\$)\$\{(?:env|file|captured):/.test(value)) return value;
    const known = this.#placeholderBySecret.get(value) ?? this.#makePlaceholder(name, source);
    this.#placeholderBySecret.set(value, known);
    return known;
  }

  /** Returns a placeholder for a key of check-ins over HTTP, which the user chooses. */
  pingKey(name: string, item: string): string {
    this.settings.hasCheckIns = true;
    return this.#makePlaceholder(`${name} ping key`, `a new key of at least 16 characters for ${item}`);
  }

  #makePlaceholder(words: string, source: string): string {
    const variable = this.#uniqueName(variableName(words), this.#variables);
    this.#variables.set(variable, source);
    return `\${env:${variable}}`;
  }

  /** Removes a part that the schema rejects, and lists it. Returns whether there was such a part. */
  drop(section: "checks" | "channels", name: string, reason: string): boolean {
    const entries: Map<string, unknown> = section === "checks" ? this.#checks : this.#channels;
    if (!entries.delete(name)) return false;
    this.leaveOut(`${section === "checks" ? "check" : "channel"} "${name}"`, null, reason);
    for (const [other, check] of this.#checks) {
      this.#checks.set(other, section === "checks" ? withoutCheck(check, name) : withoutChannel(check, name));
    }
    if (section === "channels") this.settings.defaults = withoutChannel(this.settings.defaults, name);
    return true;
  }

  #uniqueName(base: string, taken: ReadonlyMap<string, unknown>): string {
    let number = this.#uses.get(base) ?? 1;
    let name = base;
    while (taken.has(name)) name = `${base}_${++number}`;
    this.#uses.set(base, number);
    return name;
  }

  sourceOf(variable: string): string | undefined {
    return this.#variables.get(variable);
  }
}

function withoutChannel<Settings extends written.Defaults>(settings: Settings, name: string): Settings {
  const { notifications } = settings;
  return notifications === undefined ? settings : {
    ...settings,
    notifications: notifications.filter((channel) =>
      (typeof channel === "object" ? channel.channel : channel) !== name
    ),
  };
}

function withoutCheck(check: written.Check, name: string): written.Check {
  const changed = { ...check, depends_on: check.depends_on?.filter((other) => other !== name) };
  if (changed.kind !== "group") return changed;
  const { parameters } = changed;
  const checks = parameters.checks.filter((other) => other !== name);
  return { ...changed, parameters: { ...parameters, checks } };
}

function variableName(words: string): string {
  const name = words.normalize("NFKD").toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
  // The end distinguishes the secrets of an item.
  const short = name.length > NAME_LENGTH_MAX
    ? `${name.slice(0, NAME_LENGTH_MAX - 21)}_${name.slice(-20).replace(/^_+/, "")}`
    : name;
  return /^[A-Z]/.test(short) ? short : `SECRET${short === "" ? "" : `_${short}`}`;
}

/** A name for the command line: small letters, digits and underscores; the title keeps the rest. */
function plainName(sourceName: string): string {
  const letters = sourceName.normalize("NFC").toLowerCase().slice(0, 4 * NAME_LENGTH_MAX)
    .replaceAll(/[^\p{L}\p{N}]+/gu, "_").replaceAll(/^_+|_+$/g, "");
  return [...letters].slice(0, NAME_LENGTH_MAX).join("") || "unnamed";
}

export interface Importer {
  /** The file that is expected, for messages: "a config of Gatus in YAML". */
  readonly expects: string;
  /** Returns whether a file is a database, which is not read whole but opened by `translate`. */
  isDatabase?(path: string): boolean;
  /**
   * Puts every check and channel of the file, and of those that it includes, into the draft, and lists the rest there.
   *
   * @throws {ConfigError} If the file is malformed.
   */
  translate(file: ForeignFile, draft: ConfigDraft, included: IncludedFiles): void | Promise<void>;
}

export type Login = Partial<Record<"username" | "password", string | undefined>>;

interface RequestSettings {
  /** In any case. @default GET */
  readonly method: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly login?: Login;
  readonly tls?: written.HttpMessageTls | undefined;
  readonly isInsecure?: boolean | undefined;
  readonly refusesRedirects: boolean | undefined;
}

/** A part of the source, such as an endpoint. Its secrets become placeholders, and its lost settings are listed. */
export class SourceItem {
  /** `label` is its name in the list, such as `endpoint "api"`; `name` is for the names of checks and variables. */
  constructor(readonly draft: ConfigDraft, readonly label: string, readonly name: string) {}

  /** Lists a setting that the config does not have; `null`: the whole item. */
  leaveOut(key: string | null, reason: string): void {
    this.draft.leaveOut(this.label, key, reason);
  }

  /** Lists those settings that are set, each with its reason. */
  leaveOutSet(settings: Foreign, reasons: Readonly<Record<string, string>>, prefix = ""): void {
    for (const [key, reason] of Object.entries(reasons)) {
      if (!UNSET.includes(settings.get(key))) this.leaveOut(prefix + key, reason);
    }
  }

  /** Returns a placeholder for a secret; `words` name it within the item. */
  secret(value: string, words: string, place = this.label): string {
    return this.draft.secret(value, `${this.name} ${words}`, place);
  }

  pingKey(): string {
    return this.draft.pingKey(this.name, this.label);
  }

  /** Parameters named like credentials become placeholders; a whole login replaces the user information. */
  url(address: string, { username, password }: Login = {}): string {
    const hide = (url: string): string =>
      hideInAddress(url, (credential) => this.secret(credential, "credentials"));
    if (username === undefined || password === undefined) return hide(address);
    const login = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
    const secret = this.secret(login, "login", `${this.label}, as USER:PASSWORD escaped for a URL`);
    const rest = address.replace(/^(\s*https?:\/\/)[^/?#]*@/i, "$1");
    return hide(rest).replace(/^\s*https?:\/\//i, (scheme) => `${scheme}${secret}@`);
  }

  /** A request; a body that cannot be sent is listed. Only TLS of an insecure one does not verify the server. */
  request(url: string, settings: RequestSettings): written.HttpMessage {
    const { login, headers, body, isInsecure = false, refusesRedirects = false } = settings;
    const method = settings.method?.toUpperCase() ?? "GET";
    const hasBody = method !== "GET" && method !== "HEAD";
    if (body !== undefined && !hasBody) this.leaveOut("body", `${method} has no body`);
    const { tls = isInsecure && /^https:/i.test(url) ? { verify: false } : undefined } = settings;
    return {
      ...{ target: this.url(url, login), method: method === "GET" ? undefined : asWord(method) },
      ...{ headers: this.headers(headers), body: hasBody ? body && this.body(body) : undefined },
      ...{ redirects: refusesRedirects ? "refuse" : undefined, tls },
    };
  }

  /** Headers named like credentials become placeholders; `undefined` without any header. */
  headers(headers: Readonly<Record<string, string>>): Record<string, string> | undefined {
    const hidden = Object.entries(headers).map(([header, value]) => {
      if (!isCredentialName(header) || value === "") return [header, value];
      const [, scheme = "", credential = ""] = /^((?:bearer|basic|token)\s+)?(.*)$/is.exec(value) ?? [];
      return [header, scheme + this.secret(credential, header, `${this.label}, header ${header}`)];
    });
    return hidden.length === 0 ? undefined : Object.fromEntries(hidden);
  }

  /** A body with placeholders for fields of JSON and of forms that are named like credentials. */
  body(text: string): string {
    return text
      .replaceAll(/("([^"\\]{1,100})"\s*:\s*")((?:[^"\\]|\\.)*)(?=")/g, this.#hideAs("field"))
      .replaceAll(/((?:^|&)([\w.-]{1,100})=)([^&\s"{}]+)/g, this.#hideAs("field"));
  }

  /** A command line with placeholders for the values of options that are named like credentials. */
  commandLine(line: string): string {
    return line.replaceAll(/(?<=^|\s)(--?([\w-]{2,100})[=\s]\s*)(?!-)([^\s'"]+)/g, this.#hideAs("option"));
  }

  #hideAs(what: string): (whole: string, before: string, name: string, value: string) => string {
    return (whole, before, name, value) =>
      !isCredentialName(name) || value === ""
        ? whole
        : before + this.secret(value, name, `${this.label}, ${what} ${name}`);
  }
}

export function renderConfig({ settings, channels, checks }: ConfigDraft): string {
  const { page, hasCheckIns = false, maintenance_windows, connectivity, defaults } = settings;
  const config = {
    page,
    ...(hasCheckIns && { listen: { address: LISTEN_ADDRESS } }),
    ...(channels.size > 0 && { channels: Object.fromEntries(channels) }),
    ...{ maintenance_windows, connectivity, defaults },
    // The keys of a check in the order in which people read them.
    checks: Object.fromEntries(
      [...checks].map((
        [name, { title, kind, parameters, ...rest }],
      ) => [name, { title, kind, ...rest, parameters }]),
    ),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** The URL for check-ins over HTTP. */
const LISTEN_ADDRESS = "127.0.0.1:9797";

export function variablesOf(draft: ConfigDraft): readonly Readonly<Record<"name" | "source", string>>[] {
  const names = renderConfig(draft).matchAll(/(?<!\$)\$\{env:(\w+)\}/g);
  return [...new Set([...names].map(([, name = ""]) => name))]
    .map((name) => ({ name, source: draft.sourceOf(name) ?? "the same variable in the source" }));
}

/** Returns the config with a comment above it: the source, the variables to set, and the missing parts. */
export function renderImport(draft: ConfigDraft, { origin }: { readonly origin: string }): string {
  const variables = variablesOf(draft);
  const left = draft.leftOut.map(({ item, key, reason }) =>
    `  ${item}: ${key === null ? "" : `${key}: `}${reason}`
  );
  const lines = [
    `Imported from ${origin}.`,
    ...(variables.length === 0
      ? []
      : ["", "Variables to set:", ...variables.map(({ name, source }) => `  ${name}: ${source}`)]),
    ...(left.length === 0 ? [] : ["", "Not imported:", ...left]),
  ];
  const comment = lines.map((line) => `// ${printable(truncate(line, LINE_LENGTH_MAX))}`.trimEnd());
  return `${comment.join("\n")}\n${renderConfig(draft)}`;
}

const LINE_LENGTH_MAX = 300;

// Channels of the receivers that other tools notify.

/** Returns a channel of the settings of a receiver; `undefined` if a required one is missing. */
export type MakeChannel = (settings: Foreign, item: SourceItem) => written.ChannelObject | undefined;

const URL_NAME = "webhook url";

/** The parameters of channels, each with what the variable of its secret is named; `null`: it is none. */
const RECEIVERS = {
  slack: { url: URL_NAME },
  mattermost: { url: URL_NAME },
  discord: { url: URL_NAME },
  teams: { url: URL_NAME },
  telegram: { token: "token", chat: null },
  ntfy: { topic: "topic", token: "token", url: null },
  gotify: { url: null, token: "token" },
  pushover: { token: "token", user_key: "user key" },
  pagerduty: { integration_key: "integration key" },
  opsgenie: { api_key: "api key" },
};

/**
 * Returns how a channel is made of the settings with some keys, in the order of its parameters. Only the first one is
 * required here: the validation of the draft removes a channel that lacks another one.
 */
export function channelOf(kind: keyof typeof RECEIVERS, ...keys: [string, ...string[]]): MakeChannel {
  return (settings, item) => {
    if (settings.text(keys[0]) === undefined) return undefined;
    const parameters = Object.entries(RECEIVERS[kind]).flatMap(([name, words], index) => {
      const value = settings.text(keys[index] ?? "");
      if (value === undefined) return [];
      return [[name, words === null ? item.url(value) : item.secret(value, words)]];
    });
    return { kind, parameters: Object.fromEntries(parameters) } as written.ChannelObject;
  };
}

/** Returns how a webhook of Rocket.Chat or Google Chat is made of the settings. */
export function chatOf(key: string): MakeChannel {
  return (settings, item) => {
    const url = settings.text(key);
    const body = { text: "{{summary | no_mentions}}" };
    return url === undefined ? undefined : webhook({ target: item.secret(url, URL_NAME), body });
  };
}

export function webhook(parameters: written.WebhookParameters): written.ChannelObject {
  return { kind: "webhook", parameters };
}

type EmailSettings =
  & Pick<written.EmailParameters & written.EmailParametersAccess, "host" | "port" | "sender" | "receivers">
  & Login;

export function emailChannel(
  { host, port, username = "", password = "", sender, receivers }: EmailSettings,
  item: SourceItem,
): written.ChannelObject {
  const secret = password === "" ? "" : item.secret(password, "password");
  const access = { host, port, username: secret === "" ? "" : username, password: secret };
  const addresses = { sender: addressOf(sender), receivers: receivers.map(addressOf) };
  return { kind: "email", parameters: { access, ...addresses } };
}

/** The address in `Name <name@example.org>`. */
export function addressOf(text: string): string {
  return (/<([^<>]+)>\s*$/.exec(text)?.[1] ?? text).trim();
}

export function addressesIn(text: string): readonly string[] {
  return text.split(/[,;]/).map((address) => address.trim()).filter((address) => address !== "");
}
