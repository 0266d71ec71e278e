import type * as written from "../domain/generated/written_config.ts";
import { type ConfigDraft, emailChannel, type Importer, SourceItem } from "./config_draft.ts";
import type { ForeignFile, IncludedFiles } from "./foreign_text.ts";
import {
  after,
  AT_ONCE,
  connectionCheck,
  contentCheck,
  exitCodeConditions,
  type ExitCodes,
  type Failures,
  has,
  type MonitCheck,
  type MonitStatement,
  type MonitTokens,
  parseMonit,
  readFailures,
  readFilesystemTest,
  readFileTest,
  readNetworkTest,
  readProcessTest,
  type ReadTest,
  shownTokens,
  systemCheck,
  timeIn,
} from "./monit_tests.ts";
import { splitWords } from "./nagios_objects.ts";
import { intervalText } from "./span_text.ts";

export const monitImporter: Importer = {
  expects: "a control file of Monit with check statements",
  translate: async (file, draft, included) => {
    const statements = await readStatements(file, { draft, included });
    const settings = readMonitSettings(statements, draft);
    const dependencies: (readonly [key: string, services: readonly string[]])[] = [];
    const keys = new Map<string, string>();
    for (const statement of statements.filter(({ tokens }) => tokens[0]?.word === "check")) {
      const service = new Service(statement, { settings, draft });
      const [key, ...others] = service.translate();
      if (key === undefined) continue;
      keys.set(service.name, key);
      for (const each of [key, ...others]) {
        const own = each === service.alertsKey ? [service.name] : [];
        dependencies.push([each, [...service.dependsOn, ...own]]);
      }
    }
    for (const [key, services] of dependencies) {
      const known = services.flatMap((service) => keys.get(service) ?? []).filter((other) => other !== key);
      if (known.length > 0) draft.changeCheck(key, { depends_on: known });
    }
  },
};

/** The statements of a file, with those of the files that it includes in their place. */
async function readStatements(
  file: ForeignFile,
  { draft, included }: { readonly draft: ConfigDraft; readonly included: IncludedFiles },
): Promise<readonly MonitStatement[]> {
  const statements: MonitStatement[] = [];
  for (const statement of parseMonit(file)) {
    const [first, pattern] = statement.tokens;
    if (first?.word !== "include" || pattern === undefined) {
      statements.push(statement);
      continue;
    }
    const files = await included.matching(pattern.text, file);
    if (typeof files === "string") draft.leaveOut(`include ${pattern.text}`, null, files);
    else for (const inner of files) statements.push(...await readStatements(inner, { draft, included }));
  }
  return statements;
}

interface Test {
  readonly tokens: MonitTokens;
  readonly failures: Failures;
  readonly shown: string;
  /** Whether it starts or restarts the service. */
  readonly acts: boolean;
}

/** One `check` statement: its own check, and one for each test that requires another kind. */
class Service {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly #type: string;
  readonly #item: SourceItem;
  readonly head: MonitTokens;
  readonly #parts: MonitStatement["parts"];
  readonly tests: readonly Test[];
  readonly #settings: MonitSettings;
  readonly #keys: string[] = [];
  /** The check with the tests that only alert, if another one restarts the service. */
  alertsKey: string | undefined = undefined;
  /** What restarts the service; `null`: no program of it is known. */
  readonly #action: written.Action | null;
  #common: written.CheckSettings | undefined;

  constructor(
    { tokens, parts }: MonitStatement,
    { settings, draft }: { readonly settings: MonitSettings; readonly draft: ConfigDraft },
  ) {
    this.#type = tokens[1]?.word ?? "";
    this.name = tokens[2]?.text ?? "unnamed";
    this.#item = new SourceItem(draft, `check ${this.#type} "${this.name}"`, this.name);
    this.head = tokens.slice(3);
    this.#parts = parts;
    this.#settings = settings;
    this.dependsOn = parts.filter(([first]) => /^depends?$/.test(first?.word ?? ""))
      .flatMap(([, ...names]) => names.map(({ text }) => text)).filter((text) =>
        text !== "on" && text !== ","
      );
    this.#action = restartIn(parts);
    this.tests = parts.filter((part) => part[0]?.word === "if" && (this.#action === null || !isLimit(part)))
      .map((part) => this.#readTest(part));
  }

  translate(): readonly string[] {
    const translate = SERVICES[this.#type];
    if (translate === undefined) {
      this.#item.leaveOut(null, "use a script check");
      return [];
    }
    translate(this);
    for (const [first] of this.#parts) {
      if (first?.word === "not") this.#item.leaveOut("not every", "write a maintenance window");
      if (first?.word === "noalert") this.#item.leaveOut("noalert", "write notifications");
    }
    if (this.#keys.length === 0) this.#item.leaveOut(null, "it has no test with a counterpart");
    return this.#keys;
  }

  /** Returns the text after one of some words in the first line. */
  named(...words: readonly string[]): string | undefined {
    return after(this.head, ...words);
  }

  leave(test: Test, reason: string): void {
    this.#item.leaveOut(test.shown, reason);
  }

  /** Adds the check of a test, or lists why there is none. */
  translateTest(check: MonitCheck | string, test: Test): void {
    if (typeof check === "string") this.leave(test, check);
    else this.add(check, test);
  }

  /** Adds a check; a second one of the service is named for its test. */
  add(check: MonitCheck, { failures, acts }: Pick<Test, "failures" | "acts">): string {
    const port = "port" in check.parameters ? check.parameters.port : undefined;
    const suffix = this.#keys.length === 0 ? "" : ` ${check.kind}${port === undefined ? "" : ` ${port}`}`;
    const key = this.#item.draft.addCheck(`${this.name}${suffix}`, {
      ...(this.#common ??= this.#readCommon()),
      ...(failures.threshold !== THRESHOLD && failures),
      ...check,
      ...(acts && this.#action !== null && { action: this.#action }),
    });
    this.#keys.push(key);
    return key;
  }

  /** Adds the checks of what is in a file; the others stay. */
  addContents(path: string): void {
    for (const test of this.tests.filter(isAboutContent)) {
      this.translateTest(contentCheck(test.tokens, path) ?? "no counterpart", test);
    }
  }

  addConnections(host: string): void {
    for (const test of this.tests.filter(isConnection)) {
      this.translateTest(connectionCheck(test.tokens, host, this.#item), test);
    }
  }

  /**
   * Adds the check of the service itself, with every test that it has parameters for. Tests that only alert are in a
   * second one if others restart the service.
   */
  addOwn<Parameters>(read: ReadTest<Parameters>, checkOf: (tested: Partial<Parameters>) => MonitCheck): void {
    const own = this.tests.filter((test) => !isConnection(test) && !isAboutContent(test)).flatMap((test) => {
      const found = read(test.tokens);
      if (typeof found !== "string") return [{ test, found }];
      this.leave(test, found);
      return [];
    });
    // Monit restarts a process that does not exist unless a test says otherwise.
    const isImplied = this.#type === "process" &&
      !this.tests.some(({ tokens }) => has(tokens, "exist", "exists"));
    const acts = this.#action !== null && (isImplied || own.some(({ test }) => test.acts));
    const addGroup = (group: typeof own, acts: boolean): string => {
      const tested = Object.assign({}, ...group.map(({ found }) => found)) as Partial<Parameters>;
      const [failures = AT_ONCE] = group.map(({ test }) => test.failures)
        .sort((one, other) => one.threshold - other.threshold);
      return this.add(checkOf(tested), { failures, acts });
    };
    if (acts) addGroup(own.filter(({ test }) => test.acts), true);
    const others = own.filter(({ test }) => !acts || !test.acts);
    if (acts && others.length === 0) return;
    const key = addGroup(others, false);
    if (acts) this.alertsKey = key;
  }

  #readTest(part: MonitTokens): Test {
    const then = part.findIndex(({ word }) => word === "then");
    const tokens = part.slice(1, then < 0 ? undefined : then);
    const shown = shownTokens(part.slice(0, then < 0 ? undefined : then));
    const action = then < 0 ? "" : part[then + 1]?.word ?? "";
    const acts = action === "start" || action === "restart";
    if (acts && this.#action === null) this.#item.leaveOut(`then ${action}`, "no program of it is given");
    else if (!acts && action !== "alert" && action !== "") {
      this.#item.leaveOut(`then ${action}`, "write an action or a command channel");
    }
    return { ...readFailures(tokens), shown, acts };
  }

  #readCommon(): written.CheckSettings {
    const named = (name: string) => this.#parts.filter(([first]) => first?.word === name);
    const groups = named("group").flatMap(([, group]) => group?.text ?? []);
    const [every] = named("every");
    const alerts = named("alert").flatMap(([, address]) => this.#settings.channelOf(address?.text ?? ""));
    const isManual = this.#parts.some(([first, mode]) => first?.word === "mode" && mode?.word === "manual");
    return {
      ...(groups.length > 0 && { tags: groups }),
      ...(isManual && { active: false }),
      ...(every !== undefined && { schedule: this.#scheduleOf(every) }),
      ...(alerts.length > 0 && { notifications: [...new Set([...this.#settings.notifications, ...alerts])] }),
    };
  }

  #scheduleOf([, first]: MonitTokens): written.Schedule {
    if (first?.word === "") return { cron: first.text };
    const cycles = Number(first?.text);
    return { regular_interval: intervalText(this.#settings.cycleMs * (cycles >= 1 ? cycles : 1)) };
  }
}

/** Returns the action that restarts a service: its restart program, or the others one after the other. */
function restartIn(parts: MonitStatement["parts"]): written.Action | null {
  const programOf = (word: string): string | undefined => {
    const part = parts.find(([first, second]) => first?.word === word && second?.word === "program");
    return part?.slice(2).find(({ word }) => word !== "=")?.text;
  };
  const [restart, stop, start] = ["restart", "stop", "start"].map(programOf);
  if (restart === undefined && start === undefined) return null;
  const line = restart ?? (stop === undefined ? start : `${stop}; ${start}`) ?? "";
  const isPlain = restart !== undefined || stop === undefined;
  const [path = "/bin/sh", ...args] = (isPlain ? splitWords(line) : null) ?? ["/bin/sh", "-c", line];
  const count = Number(parts.find(isLimit)?.[1]?.text);
  return {
    path,
    ...(args.length > 0 && { arguments: args }),
    ...(count >= 1 && { at_most: Math.min(Math.floor(count), AT_MOST_MAX) }),
  };
}

const AT_MOST_MAX = 20;

/** Such as `if 3 restarts within 5 cycles then unmonitor`. */
function isLimit([first, , what]: MonitTokens): boolean {
  return first?.word === "if" && /^restarts?$/.test(what?.word ?? "");
}

function isConnection({ tokens }: Test): boolean {
  return has(tokens, "failed") &&
    has(tokens, "port", "url", "unixsocket", "unix", "ping", "ping4", "ping6", "icmp");
}

function isAboutContent({ tokens }: Test): boolean {
  return contentCheck(tokens, "") !== null;
}

/** Only failures count; `test` prints nothing. */
const EXISTENCE = { exit_code_conditions: { "1": "critical", "2": "critical" } } as const;

const SERVICES: Readonly<Record<string, (service: Service) => void>> = {
  process: (service) => {
    const [pidFile, pattern] = [service.named("pidfile"), service.named("matching", "match")];
    if (pidFile !== undefined || pattern !== undefined) {
      const which = pidFile === undefined ? { pattern } : { pid_file: pidFile };
      service.addOwn(readProcessTest, (tested) => ({ kind: "process", parameters: { ...which, ...tested } }));
    }
    service.addConnections("127.0.0.1");
  },
  file: (service) => addPath(service, "-f"),
  directory: (service) => addPath(service, "-d"),
  network: (service) => {
    const name = service.named("interface");
    if (name === undefined) return;
    service.addOwn(
      readNetworkTest,
      (tested) => ({ kind: "network_interface", parameters: { name, ...tested } }),
    );
  },
  filesystem: addFilesystem,
  device: addFilesystem,
  host: addHost,
  remote: addHost,
  system: (service) => {
    for (const test of service.tests) service.translateTest(systemCheck(test.tokens), test);
  },
  program: addProgram,
};

function addFilesystem(service: Service): void {
  const path = service.named("path");
  if (path === undefined) return;
  service.addOwn(readFilesystemTest, (tested) => ({
    kind: "disk_space",
    parameters: { path, free: {}, free_inodes: {}, ...tested },
  }));
}

function addHost(service: Service): void {
  service.addConnections(service.named("address") ?? service.name);
  for (const test of service.tests) if (!isConnection(test)) service.leave(test, "use a script check");
}

/** Older than any file. */
const EVER = { warning_age: "520 weeks", critical_age: "520 weeks" };

/** Without a test of its age or size, only the existence of a file is checked. */
function addPath(service: Service, flag: "-f" | "-d"): void {
  const path = service.named("path");
  if (path === undefined) return;
  const isTimed = service.tests.some(({ tokens }) =>
    typeof readFileTest(tokens) !== "string" && !has(tokens, "exist", "exists")
  );
  service.addContents(path);
  service.addOwn(
    readFileTest,
    (tested) =>
      isTimed
        ? {
          kind: "file_timestamp",
          parameters: { path, ...EVER, condition_on_missing: "critical", ...tested },
        }
        : { kind: "script", parameters: { path: "test", arguments: [flag, path], ...EXISTENCE } },
  );
}

function addProgram(service: Service): void {
  const line = service.named("path") ?? "";
  const [path, ...args] = splitWords(line) ?? ["/bin/sh", "-c", line];
  if (path === undefined || path === "") return;
  const timeoutMs = has(service.head, "timeout") ? timeIn(service.head, 0) : null;
  let codes: ExitCodes | undefined;
  let [failures, acts] = [AT_ONCE, false];
  for (const test of service.tests) {
    const found = exitCodeConditions(test.tokens);
    if (typeof found === "string") service.leave(test, found);
    else {
      codes = found;
      ({ failures } = test);
      acts ||= test.acts;
    }
  }
  const timeout = timeoutMs === null ? undefined : intervalText(timeoutMs);
  const parameters = { path, arguments: args, exit_code_conditions: codes };
  service.add({ kind: "script", parameters, timeout }, { failures, acts });
}

type MonitSettings = ReturnType<typeof readMonitSettings>;

const OWN: readonly string[] =
  ("daemon log logfile pidfile idfile statefile eventqueue init limits ssl tls mailserver mail-format alert " +
    "onreboot terminal expectbuffer fips").split(" ");

const REASONS: Readonly<Record<string, string>> = {
  httpd: "set listen for the live view",
  mmonit: "no counterpart",
};

const CYCLE_SECONDS = 30;
const THRESHOLD = 1;

/** The time between two cycles, the threshold of `defaults`, and the channels of `set alert`. */
function readMonitSettings(statements: readonly MonitStatement[], draft: ConfigDraft) {
  const sets = statements.filter(({ tokens }) => tokens[0]?.word === "set").map(({ tokens }) => tokens);
  const named = (name: string) => sets.filter((tokens) => tokens[1]?.word === name);
  for (const { tokens: [first, second] } of statements) {
    if (first?.word !== "set" || OWN.includes(second?.word ?? "")) continue;
    draft.leaveOut(`set ${second?.text ?? ""}`, null, REASONS[second?.word ?? ""] ?? "no counterpart");
  }
  const daemon = Number(named("daemon").at(-1)?.[2]?.text);
  const cycleMs = 1000 * (daemon > 0 ? daemon : CYCLE_SECONDS);
  const channelOf = channelMaker(named("mailserver")[0] ?? [], named("mail-format")[0] ?? [], draft);
  const alerts = named("alert");
  const notifications = alerts.flatMap(([, , address]) => channelOf(address?.text ?? ""));
  if (alerts.some((tokens) => tokens.some(({ word }) => word.startsWith("{")))) {
    draft.leaveOut("set alert", "on", "every problem is notified: write filters by hand");
  }
  const reminder = Number(after(alerts.find((tokens) => has(tokens, "reminder")) ?? [], "reminder"));
  draft.settings.defaults = {
    ...{ threshold: THRESHOLD, schedule: { regular_interval: intervalText(cycleMs) } },
    ...(reminder > 0 && { reminders: intervalText(reminder * cycleMs) }),
    ...(notifications.length > 0 && { notifications }),
  };
  return { cycleMs, notifications, channelOf };
}

/** The address in `set mail-format { from: … }`. */
function senderIn(format: MonitTokens): string | undefined {
  const block = format.find(({ word }) => word.startsWith("{"))?.text ?? "";
  return /\bfrom:\s*([^\r\n}]+)/i.exec(block)?.[1]?.trim().replaceAll("$HOST", "localhost");
}

/** Returns a function that creates a channel for each address once. */
function channelMaker(server: MonitTokens, format: MonitTokens, draft: ConfigDraft) {
  const channels = new Map<string, string>();
  const port = Number(after(server, "port"));
  const sender = senderIn(format) ?? "monit@localhost";
  return (address: string): readonly string[] => {
    if (!address.includes("@")) return [];
    const channel = channels.get(address) ?? draft.addChannel(
      address.split("@")[0] ?? address,
      emailChannel({
        ...{ host: server[2]?.text ?? "127.0.0.1", port: port > 0 ? port : 25, sender, receivers: [address] },
        ...{ username: after(server, "username"), password: after(server, "password") },
      }, new SourceItem(draft, "set mailserver", "mailserver")),
    );
    channels.set(address, channel);
    return [channel];
  };
}
