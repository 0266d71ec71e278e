import type * as written from "../domain/generated/written_config.ts";
import { type ConfigDraft, emailChannel, type Importer, SourceItem } from "./config_draft.ts";
import {
  listOf,
  type NagiosFile,
  type NagiosObject,
  parseNagios,
  PLUGIN_DIRECTORY,
  translateCommand,
} from "./nagios_objects.ts";
import { intervalText, MINUTES_OF_DAY, timeOfDay } from "./span_text.ts";
import { asWord } from "./foreign_text.ts";

export const nagiosImporter: Importer = {
  expects: "nagios.cfg, or object definitions of Nagios such as objects.cache",
  translate: async (file, draft, included) => new Translation(await parseNagios(file, included), draft).run(),
};

/** Objects that have no counterpart as a whole. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  hostescalation: "write a channel with after by hand",
  hostextinfo: "no counterpart",
  serviceescalation: "write a channel with after by hand",
  serviceextinfo: "no counterpart",
};

/** Directives of hosts and services that are listed if they are set. */
const LEFT_OUT_DIRECTIVES: Readonly<Record<string, string>> = {
  event_handler: "use a command channel",
  first_notification_delay: "write a channel with after by hand",
};

class Translation {
  readonly #file: NagiosFile;
  readonly #draft: ConfigDraft;
  readonly #hosts = new Map<string, NagiosObject>();
  /** Names of hosts by host group. */
  readonly #groups = new Map<string, Set<string>>();
  /** Names of host groups by host. */
  readonly #groupsOf = new Map<string, readonly string[]>();
  readonly #commands: ReadonlyMap<string, string>;
  readonly #notifying: ReturnType<typeof readContacts>;
  /** Names of checks by host, and by host and service. */
  readonly #checks = new Map<string, string>();

  constructor(file: NagiosFile, draft: ConfigDraft) {
    this.#file = file;
    this.#draft = draft;
    this.#commands = new Map(
      this.#of("command").map((command) => [command.text("command_name"), command.text("command_line")]),
    );
    this.#notifying = readContacts(file.objects, draft);
    for (const host of this.#of("host")) this.#hosts.set(host.text("host_name"), host);
  }

  run(): void {
    const draft = this.#draft;
    for (const { item, reason } of this.#file.unread) draft.leaveOut(item, null, reason);
    for (const object of this.#file.objects) {
      const reason = LEFT_OUT[object.type];
      if (reason !== undefined) draft.leaveOut(`${object.type} "${object.text("host_name")}"`, null, reason);
    }
    const usesPlugins = [...this.#commands.values()].some((line) => line.includes("$USER1$"));
    if (usesPlugins && !this.#file.macros.has("USER1")) {
      draft.leaveOut("resource.cfg", "$USER1$", `not in the file, so ${PLUGIN_DIRECTORY} is used`);
    }
    this.#readGroups();
    for (const [name, host] of this.#hosts) this.#addHost(name, host);
    for (const service of this.#of("service")) this.#addService(service);
    this.#addDependencies();
  }

  #of(type: string): readonly NagiosObject[] {
    return this.#file.objects.filter((object) => object.type === type);
  }

  #readGroups(): void {
    const groups = new Map(this.#of("hostgroup").map((group) => [group.text("hostgroup_name"), group]));
    // Each group is a set that grows until no nested group adds a host.
    for (const [name, group] of groups) {
      this.#groups.set(name, new Set(this.#expandHosts(group.list("members"))));
    }
    for (let hasGrown = true; hasGrown;) {
      hasGrown = false;
      for (const [name, group] of groups) {
        const members = this.#groups.get(name) ?? new Set();
        const sizeBefore = members.size;
        for (const inner of group.list("hostgroup_members")) {
          for (const host of this.#groups.get(inner) ?? []) members.add(host);
        }
        hasGrown ||= members.size > sizeBefore;
      }
    }
    for (const [name, host] of this.#hosts) {
      for (const group of host.list("hostgroups")) {
        this.#groups.getOrInsertComputed(group, () => new Set()).add(name);
      }
    }
    for (const [group, members] of this.#groups) {
      for (const host of members) {
        this.#groupsOf.set(host, [...this.#groupsOf.get(host) ?? [], group].slice(0, TAGS_MAX));
      }
    }
  }

  /** A list of hosts, in which `*` means all, and `!` leaves one out. */
  #expandHosts(names: readonly string[]): readonly string[] {
    const isLeftOut = new Set(names.filter((name) => name.startsWith("!")).map((name) => name.slice(1)));
    return names.flatMap((name) => name === "*" ? [...this.#hosts.keys()] : name)
      .filter((name) => !name.startsWith("!") && !isLeftOut.has(name));
  }

  #addHost(name: string, host: NagiosObject): void {
    const item = new SourceItem(this.#draft, `host "${name}"`, name);
    const command = host.text("check_command");
    if (command === "") return item.leaveOut(null, "it has no check_command");
    const parents = host.list("parents");
    const check = this.#translate(command, { host, service: null, item });
    if (check === null) return;
    const key = this.#draft.addCheck(name, { title: host.directives.get("alias") ?? name, ...check });
    this.#checks.set(name, key);
    if (parents.length > 0) this.#parents.push([key, parents]);
  }

  readonly #parents: (readonly [check: string, hosts: readonly string[]])[] = [];

  #addService(service: NagiosObject): void {
    const description = service.text("service_description");
    const ofGroups = service.list("hostgroup_name").flatMap((group) =>
      group === "*" ? [...this.#hosts.keys()] : [...this.#groups.get(group) ?? []]
    );
    const names = new Set([...this.#expandHosts(service.list("host_name")), ...ofGroups]);
    for (const left of service.list("host_name")) if (left.startsWith("!")) names.delete(left.slice(1));
    if (names.size === 0) this.#draft.leaveOut(`service "${description}"`, null, "it has no host");
    for (const name of names) {
      const label = `service "${description}" on "${name}"`;
      const item = new SourceItem(this.#draft, label, `${name} ${description}`);
      const host = this.#hosts.get(name);
      if (host === undefined) {
        item.leaveOut(null, "the host is not defined");
        continue;
      }
      const check = this.#translate(service.text("check_command"), { host, service, item });
      if (check === null) continue;
      const hostCheck = this.#checks.get(name);
      const parent = hostCheck === undefined ? {} : { depends_on: [hostCheck] };
      const key = this.#draft.addCheck(item.name, { ...parent, ...check });
      this.#checks.set(`${name}\n${description}`, key);
    }
  }

  #translate(
    command: string,
    { host, service, item }: {
      readonly host: NagiosObject;
      readonly service: NagiosObject | null;
      readonly item: SourceItem;
    },
  ): written.Check | null {
    const object = service ?? host;
    const { directives } = object;
    const get = (key: string) =>
      directives.get(key) ?? (INHERITED.includes(key) ? host.directives.get(key) : undefined);
    if (directives.get("active_checks_enabled") === "0") {
      item.leaveOut(null, "its checks are passive: use a job check");
      return null;
    }
    const { macros } = this.#file;
    const target = translateCommand(command, { host, service, item, commands: this.#commands, macros });
    if ("reason" in target) {
      item.leaveOut(null, target.reason);
      return null;
    }
    for (const [key, reason] of Object.entries(LEFT_OUT_DIRECTIVES)) {
      if (!["", "0"].includes(object.text(key))) item.leaveOut(key, reason);
    }
    const options = object.list("notification_options");
    if (lacksEvents(options, service === null ? HOST_EVENTS : SERVICE_EVENTS)) {
      item.leaveOut(`notification_options ${options.join(",")}`, FILTER_BY_HAND);
    }
    const groups = this.#groupsOf.get(host.text("host_name")) ?? [];
    const tags = [...groups, ...object.list("servicegroups")];
    const timeoutSeconds = Number(this.#file.settings.get("service_check_timeout") ?? 60);
    return {
      ...(tags.length > 0 && { tags: [...new Set(tags)] }),
      ...this.#timing(get),
      ...this.#notifying(get, item, (value) => this.#interval(value)),
      timeout: intervalText(1000 * (timeoutSeconds > 0 ? timeoutSeconds : 60)),
      ...target,
    };
  }

  #timing(get: (key: string) => string | undefined): written.CheckSettings {
    const interval = this.#interval(get("check_interval") ?? get("normal_check_interval"));
    const regular = interval ?? this.#interval("5");
    const retry = this.#interval(get("retry_interval") ?? get("retry_check_interval"));
    const attempts = Math.max(1, Math.trunc(Number(get("max_check_attempts") ?? 3)) || 1);
    return {
      // Nagios recovers after one good result.
      ...{ threshold: attempts, recovery_threshold: 1 },
      schedule: {
        regular_interval: regular,
        ...(retry !== undefined && retry !== regular && { attentive_interval: retry }),
      },
    };
  }

  /** Intervals count in units of `interval_length`, by default minutes; 0 means none. */
  #interval(value: string | undefined): string | undefined {
    const count = Number(value);
    const unitSeconds = Number(this.#file.settings.get("interval_length") ?? 60) || 60;
    return count > 0 && Number.isFinite(count) ? intervalText(count * unitSeconds * 1000) : undefined;
  }

  #addDependencies(): void {
    for (const [key, hosts] of this.#parents) this.#depend(key, hosts.map((host) => this.#checks.get(host)));
    for (const object of this.#file.objects) {
      const { type } = object;
      if (type !== "hostdependency" && type !== "servicedependency") continue;
      const checksOf = (prefix: string) =>
        this.#expandHosts(object.list(`${prefix}host_name`)).flatMap((host) =>
          type === "hostdependency"
            ? [host]
            : object.list(`${prefix}service_description`).map((one) => `${host}\n${one}`)
        ).map((name) => this.#checks.get(name));
      const [masters, dependents] = [checksOf(""), checksOf("dependent_")];
      for (const key of dependents) if (key !== undefined) this.#depend(key, masters);
    }
  }

  #depend(key: string, masters: readonly (string | undefined)[]): void {
    const known = masters.flatMap((master) => master === undefined || master === key ? [] : [master]);
    const earlier = this.#draft.checks.get(key)?.depends_on ?? [];
    if (known.length > 0) this.#draft.changeCheck(key, { depends_on: [...new Set([...earlier, ...known])] });
  }
}

/** Of the host groups of a host; more would make the config larger than its limit. */
const TAGS_MAX = 100;

/** The settings that a service inherits from its host by default. */
const INHERITED: readonly string[] = [
  "contacts",
  "contact_groups",
  "notification_interval",
  "notification_period",
];

type Directive = (key: string) => string | undefined;

/** Creates a channel of each contact, and returns how hosts and services notify. */
function readContacts(objects: readonly NagiosObject[], draft: ConfigDraft) {
  const channels = new Map<string, string>();
  const periods = new Map(
    objects.filter(({ type }) => type === "timeperiod").map((one) => [one.text("timeperiod_name"), one]),
  );
  for (const { type, directives } of objects) {
    const name = directives.get("contact_name");
    if (type !== "contact" || name === undefined) continue;
    const email = directives.get("email");
    const item = new SourceItem(draft, `contact "${name}"`, name);
    if (email === undefined) item.leaveOut(null, "it has no email; write a webhook or command channel");
    else {
      const access = { host: "127.0.0.1", port: 25, sender: "monitor@localhost", receivers: listOf(email) };
      const channel = { ...emailChannel(access, item), ...hoursOf(directives, { item, periods }) };
      channels.set(name, draft.addChannel(name, channel));
      listFilters(directives, item);
    }
    const command = directives.get("service_notification_commands") ?? "";
    if (command !== "" && !/mail/i.test(command)) {
      item.leaveOut("service_notification_commands", "write a command channel");
    }
  }
  const groups = contactGroups(objects);
  return (
    get: Directive,
    item: SourceItem,
    interval: (value: string | undefined) => string | undefined,
  ): written.Defaults => {
    const ofGroups = listOf(get("contact_groups")).flatMap((group) => groups.get(group) ?? []);
    const names = [...listOf(get("contacts")), ...ofGroups];
    const isSilent = get("notifications_enabled") === "0" || get("notification_options") === "n";
    return {
      reminders: isSilent ? undefined : interval(get("notification_interval")),
      notifications: isSilent ? [] : [...new Set(names.flatMap((name) => channels.get(name) ?? []))],
      ...windowsOf(get, item, periods),
    };
  };
}

/** The first letters of the events that can be filtered. */
const HOST_EVENTS = ["d", "u", "r"];
const SERVICE_EVENTS = ["w", "u", "c", "r"];
const FILTER_BY_HAND = "write conditions and events of a channel by hand";

function listFilters(directives: ReadonlyMap<string, string>, item: SourceItem): void {
  for (const [type, events] of [["service", SERVICE_EVENTS], ["host", HOST_EVENTS]] as const) {
    const options = listOf(directives.get(`${type}_notification_options`));
    const isOff = directives.get(`${type}_notifications_enabled`) === "0";
    if (!isOff && !options.some((option) => option[0] === "n") && !lacksEvents(options, events)) continue;
    const setting = isOff
      ? `${type}_notifications_enabled 0`
      : `${type}_notification_options ${options.join(",")}`;
    item.leaveOut(setting, FILTER_BY_HAND);
  }
}

/** Whether `notification_options` leave out some of the events; without any, or with `n`, nothing is filtered. */
function lacksEvents(options: readonly string[], events: readonly string[]): boolean {
  const isFilter = options.length > 0 && !options.some((option) => ["n", "a"].includes(option[0] ?? ""));
  return isFilter && !events.every((event) => options.some((option) => option[0] === event));
}

function contactGroups(objects: readonly NagiosObject[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const object of objects) {
    const { type } = object;
    const names = type === "contact" ? object.list("contactgroups") : [object.text("contactgroup_name")];
    const contacts = type === "contact" ? [object.text("contact_name")] : object.list("members");
    if (type !== "contact" && type !== "contactgroup") continue;
    for (const name of names) groups.getOrInsertComputed(name, () => []).push(...contacts);
  }
  return groups;
}

type Periods = ReadonlyMap<string, NagiosObject>;

function isAlways(name: string | undefined, periods: Periods): boolean {
  const period = name === undefined ? undefined : periods.get(name);
  return name === undefined || name === "24x7" ||
    (period !== undefined && weeklyWindows(period, gapsOf)?.length === 0);
}

const ONLY_WEEKLY = "only weekly times have a counterpart";

function undefinedReason(name = "", periods: Periods): string | null {
  return periods.has(name) ? null : `the time period "${name}" is not defined`;
}

/** The hours of a contact's channel. Nagios has one time period for hosts and one for services. */
function hoursOf(
  directives: ReadonlyMap<string, string>,
  { item, periods }: { readonly item: SourceItem; readonly periods: Periods },
): Pick<written.ChannelObject, "hours"> {
  const keys = ["service_notification_period", "host_notification_period"];
  const limited = keys.filter((key) => !isAlways(directives.get(key), periods));
  const [first] = limited;
  if (first === undefined) return {};
  const period = periods.get(directives.get(first) ?? "");
  const windows = period === undefined ? null : weeklyWindows(period, (ranges) => ranges.map(spanOf));
  const isSame = limited.length === keys.length && new Set(keys.map((key) => directives.get(key))).size === 1;
  if (isSame && windows !== null && windows.length > 0) return { hours: windows };
  for (const key of limited) {
    const reason = isSame ? ONLY_WEEKLY : "hosts and services differ: write hours by hand";
    item.leaveOut(key, undefinedReason(directives.get(key), periods) ?? reason);
  }
  return {};
}

function windowsOf(get: Directive, item: SourceItem, periods: Periods): written.Defaults {
  const checked = get("check_period");
  if (!isAlways(checked, periods)) {
    item.leaveOut("check_period", undefinedReason(checked, periods) ?? "write a cron schedule");
  }
  const name = get("notification_period");
  if (isAlways(name, periods)) return {};
  const period = periods.get(name ?? "");
  const windows = period === undefined ? null : weeklyWindows(period, gapsOf);
  if (windows !== null) return { maintenance_windows: windows };
  item.leaveOut("notification_period", undefinedReason(name, periods) ?? ONLY_WEEKLY);
  return {};
}

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
type Day = NonNullable<written.Window["days"]>[number];
const OTHER_DIRECTIVES: readonly string[] = ["timeperiod_name", "alias", "name", "use", "register"];

/** The windows of a weekly time period by its ranges on each day; `null` if it has exceptions, dates or exclusions. */
function weeklyWindows(
  { directives }: NagiosObject,
  spansOf: (ranges: readonly Range[]) => readonly string[],
): readonly written.Window[] | null {
  const isWeekly = [...directives.keys()].every((key) =>
    DAYS.includes(key) || OTHER_DIRECTIVES.includes(key)
  );
  if (!isWeekly) return null;
  const daysBySpan = new Map<string, Day[]>();
  for (const name of DAYS) {
    const ranges = readRanges(directives.get(name) ?? "");
    if (ranges === null) return null;
    for (const span of spansOf(ranges)) {
      daysBySpan.set(span, [...daysBySpan.get(span) ?? [], asWord<Day>(name.slice(0, 3))]);
    }
  }
  return [...daysBySpan].map(([span, days]) => {
    const [from = "", to = ""] = span.split("-");
    return { ...(days.length < DAYS.length && { days }), from, to };
  });
}

type Range = readonly [from: number, to: number];

function readRanges(text: string): readonly Range[] | null {
  const ranges: Range[] = [];
  for (const range of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
    const [, ...numbers] = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/.exec(range) ?? [];
    if (numbers.length === 0) return null;
    const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = numbers.map(Number);
    ranges.push([fromHour * 60 + fromMinute, toHour * 60 + toMinute]);
  }
  return ranges.sort(([one], [other]) => one - other);
}

function spanOf([from, to]: Range): string {
  return `${timeOfDay(from)}-${to === MINUTES_OF_DAY ? "24:00" : timeOfDay(to)}`;
}

function gapsOf(ranges: readonly Range[]): readonly string[] {
  const gaps: string[] = [];
  let covered = 0;
  for (const [from, to] of [...ranges, [MINUTES_OF_DAY, MINUTES_OF_DAY] as const]) {
    if (from > covered) gaps.push(spanOf([covered, from]));
    covered = Math.max(covered, to);
  }
  return gaps;
}
