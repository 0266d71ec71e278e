import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import { jsonDocument, printable, truncate } from "../../shared/text.ts";
import { addChecks, type ConfigTarget, openTarget, writtenChecks } from "../new_checks/add_checks.ts";
import { entryFor, type NewCheck, openNewChecks, readAllOperands } from "../new_checks/read_operands.ts";
import { hintOf } from "../failure.ts";
import { warn } from "../terminal.ts";
import type { Check } from "../../domain/check.ts";
import {
  groupPermissions,
  permissionFlags,
  type RequiredPermission,
} from "../../permissions/required_permissions.ts";
import { matchesGlob } from "../../shared/matches_glob.ts";
import { type CommandContext, type OpenConfig, readKinds } from "../open_config.ts";
import { type Discovery, type Proposal, PROPOSAL_SOURCES } from "../../discover/discovery.ts";
import type { System } from "../../domain/system.ts";

export const discoverCommand: Command = {
  name: "discover",
  group: "start",
  summary: "propose checks for what runs on this machine",
  description:
    "Proposes checks for file systems, systemd units, listening ports, certificates and cron jobs that the config does not check " +
    "yet. On a terminal it asks which to add; the chosen ones are tried and written as with add.",
  page: "guides/add_checks.md",
  options: [
    OPTION.config,
    option("--all", "addition of every proposed check, without a question"),
    option("--json", "the proposed checks as JSON; nothing is added"),
  ],
  examples: [
    ["monitor discover", "choose from the proposed checks"],
    ["monitor discover --all", "add all of them"],
    ["monitor discover --json", "list them for another program"],
  ],
  endings: ["done", "state", "permission", "config", "interrupted"],
  run: async (invocation, system) => {
    const { options } = invocation;
    if (options.has("json") && options.has("all")) throw new UsageError("--json cannot be used with --all");
    const target = await openTarget({ invocation, system });
    const notes: string[] = [];
    const proposed = await discover({ invocation, system, target, note: (text) => void notes.push(text) });
    if (options.has("json")) {
      const checks = proposed.map(({ check, reason }) => ({ name: check.name, ...entryFor(check), reason }));
      system.stdout.write(jsonDocument({ checks, unavailable: notes }));
      return EXIT.ok;
    }
    for (const text of notes) warn(text, system);
    if (proposed.length === 0) {
      system.stdout.write("nothing to propose: everything found is checked already\n");
      return EXIT.ok;
    }
    const isAsked = !options.has("all") && system.terminal.isTerminal && system.stdout.isTerminal;
    if (!options.has("all")) system.stdout.write(renderList(proposed));
    if (!options.has("all") && !isAsked) {
      const hint = "add them with: monitor discover --all, or one by one with: monitor add TARGET";
      system.stdout.write(`\n${printable(hintOf(invocation, hint))}\n`);
      return EXIT.ok;
    }
    const chosen = isAsked ? await choose(proposed.length, system) ?? [] : proposed.keys();
    const checks = [...chosen].flatMap((index) => proposed[index]?.check ?? []);
    if (checks.length === 0) system.stdout.write("nothing was added\n");
    return await addChecks(checks, { invocation, system, target });
  },
};

const TARGET_LENGTH_MAX = 50;

function renderList(proposed: readonly ProposedCheck[]): string {
  const targets = proposed.map(({ target }) => truncate(printable(target), TARGET_LENGTH_MAX));
  const width = Math.max(...targets.map(textWidth));
  const digits = `${proposed.length}`.length;
  return proposed.map(({ reason }, index) =>
    `${`${index + 1}`.padStart(digits)}  ${pad(targets[index] ?? "", width)}  ${printable(reason)}\n`
  ).join("");
}

interface ProposedCheck {
  readonly check: NewCheck;
  readonly target: string;
  readonly reason: string;
}

type DiscoverOptions = CommandContext & Pick<Discovery, "root" | "note"> & { readonly target: ConfigTarget };

/** Proposes checks for services of this machine, except for those that the config checks already. */
async function discover(options: DiscoverOptions): Promise<readonly ProposedCheck[]> {
  const { target } = options;
  const denied = new Map<string, RequiredPermission[]>();
  const deny: Discovery["deny"] = (what, need) => {
    denied.set(what, [...denied.get(what) ?? [], { ...need, neededBy: what }]);
  };
  const discovery = { ...options, deny };
  const found = Object.values(PROPOSAL_SOURCES).map((source) => source(discovery));
  const proposals: readonly Proposal[] = (await Promise.all(found)).flat();
  const isCovered = await createCoverage(target.config?.checks ?? []);
  const names = new Set(writtenChecks(target.config).keys());
  const proposed: ProposedCheck[] = [];
  for (const proposal of proposals) {
    const check = await readProposal(proposal, discovery);
    if (check === null) continue;
    const opened = await openNewChecks([check], options).catch((error) => {
      // A service with invalid values, such as a host with an odd name, is not proposed.
      if (error instanceof UsageError) return null;
      throw error;
    });
    const [made] = opened?.checks ?? [];
    if (made === undefined || await isCovered(made, proposal)) continue;
    const name = freeName(check.name, names);
    names.add(name);
    const { words, reason } = proposal;
    proposed.push({ check: { ...check, name }, target: check.cronJob?.command ?? words.join(" "), reason });
  }
  for (const [what, missing] of denied) {
    options.note(`${what}: grant ${permissionFlags(groupPermissions(missing)).join(" ")}`);
  }
  return proposed;
}

/** Reads a proposal as `monitor add` would; `null`, with a note, if this process may not look at it. */
async function readProposal({ words, cronJob }: Proposal, { system, deny }: Discovery) {
  try {
    const [check] = await readAllOperands(words, system);
    if (check === undefined) throw new Error(`No check is made of ${words.join(" ")}`);
    return cronJob === undefined ? check : { ...check, name: cronJob.name, cronJob };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    deny("file systems", { permission: "read", value: words[0] ?? "" });
    return null;
  }
}

/** Whether a check has the subject of another one; jobs of a crontab may have one name and yet be several. */
async function createCoverage(
  checks: OpenConfig["checks"],
): Promise<(check: Check, proposal: Proposal) => Promise<boolean>> {
  const covered = new Set<string>();
  const subjectsOf = async (check: Check): Promise<readonly string[]> =>
    (await readKinds([check.kind])).get(check.kind)?.target.subjectsOf(check) ?? [];
  for (const check of checks) {
    for (const subject of check.lack === undefined ? await subjectsOf(check) : []) covered.add(subject);
  }
  return async (check, { cronJob }) => {
    const [own] = await subjectsOf(check);
    if (own === undefined) return false;
    // A unit may be a pattern of units.
    const isCovered = covered.has(own) || [...covered].some((subject) => matchesGlob(own, subject));
    if (cronJob === undefined) covered.add(own);
    return isCovered;
  };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let count = 1;; count++) {
    const candidate = count === 1 ? name : `${name}_${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}

const PROMPT = "add (numbers such as 1 3-5, all, or none): ";

/** Asks on the terminal which of some numbered items are meant; `null`: the terminal was closed. */
export async function choose(
  count: number,
  { stdout, terminal }: Pick<System, "stdout" | "terminal">,
): Promise<readonly number[] | null> {
  for (;;) {
    stdout.write(PROMPT);
    const line = await terminal.readLine();
    if (line === null) return null;
    const chosen = readChoice(line, count);
    if (chosen !== null) return chosen;
    stdout.write(`expected numbers from 1 to ${count}, all, or none\n`);
  }
}

/** Parses numbers and ranges from 1 on, `all` or `none`; the returned numbers count from 0. Empty is `none`. */
export function readChoice(line: string, count: number): readonly number[] | null {
  const text = line.trim().toLowerCase();
  if (text === "" || text === "none") return [];
  if (text === "all") return Array.from({ length: count }, (_, index) => index);
  const chosen = new Set<number>();
  for (const word of text.split(/[\s,]+/)) {
    const [, from = "", to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(word) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === "" || first < 1 || last > count || first > last) return null;
    for (let number = first; number <= last; number++) chosen.add(number - 1);
  }
  return [...chosen].sort((one, other) => one - other);
}
