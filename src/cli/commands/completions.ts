import {
  type Command,
  COMMON_OPTIONS,
  type ConfigNames,
  EXIT,
  operandsMax,
  type OptionSpec,
  UsageError,
} from "../command_definition.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = typeof SHELLS[number];

export const completionsCommand: Command = {
  name: "completions",
  group: "plumbing",
  summary: "print the completion script of a shell",
  operands: "SHELL",
  firstOperands: SHELLS,
  description:
    "Prints the completion script of bash, zsh or fish. It completes commands, options, values, paths, and the checks, channels and tags of the config.",
  page: "start/install.md",
  options: [],
  endings: ["done"],
  uses: ["env"],
  examples: [
    ["monitor completions bash > ~/.local/share/bash-completion/completions/monitor", "install for bash"],
    ['monitor completions zsh > "${fpath[1]}/_monitor"', "install for zsh, in a writable directory"],
    ["monitor completions fish > ~/.config/fish/completions/monitor.fish", "install for fish"],
  ],
  run: ({ operands }, system) => {
    system.stdout.write(SHELL_ENTRIES[readShell(operands[0])].script);
    return Promise.resolve(EXIT.ok);
  },
};

/** @throws {UsageError} If it is none that is completed in. */
export function readShell(name: string | undefined): Shell {
  const shell = SHELLS.find((candidate) => candidate === name);
  if (shell !== undefined) return shell;
  const shells = SHELLS.join(", ");
  if (name !== undefined) throw new UsageError(`the shell is "${name}", expected one of ${shells}`);
  throw new UsageError(`completions requires the name of a shell: ${shells}`);
}

interface ShellEntry {
  /** The script for the shell; it calls `monitor __complete SHELL -- …`. */
  readonly script: string;
  /** Returns the words after `monitor`, up to the cursor, from those after `--`. */
  words(asked: readonly string[]): readonly string[];
  /** A candidate in the shell's syntax; `null` if it doesn't match the typed beginning. */
  line(candidate: Candidate, asked: readonly string[]): string | null;
}

export const SHELL_ENTRIES: { readonly [Name in Shell]: ShellEntry } = {
  bash: {
    script:
      `# Completion of monitor for bash: read it in ~/.bashrc, or put it where bash-completion looks for it.
_monitor() {
  local program=\${1/#\\~\\//$HOME/} line offers=
  type -P -- "$program" >/dev/null || program=monitor
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $offers ]]; then offers=$line; else COMPREPLY+=("$line"); fi
  done < <("$program" __complete bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  [[ $offers == files ]] && compopt -o bashdefault -o default
  return 0
}
complete -F _monitor monitor
`,
    words: ([line = "", breaks = ""]) => readBashLine(line, breaks).words.slice(1),
    line: ({ value }, [line = "", breaks = ""]) => {
      const { words, keptLength, quote } = readBashLine(line, breaks);
      if (!value.startsWith(words.at(-1) ?? "")) return null;
      return quoteForBash(value.slice(keptLength), quote);
    },
  },
  zsh: {
    script: `#compdef monitor
# Completion of monitor for zsh: put it into a directory of $fpath as _monitor.
_monitor() {
  local program=\${(Q)words[1]} current=\${(Q)PREFIX} line
  local -a before answer values displays
  program=\${program/#\\~\\//$HOME/}
  [[ -x $program ]] || (( $+commands[$program] )) || program=monitor
  (( CURRENT > 2 )) && before=("\${(@Q)words[2,CURRENT-1]}")
  answer=("\${(@f)$("$program" __complete zsh -- "\${(@)before}" "$current" 2>/dev/null </dev/null)}")
  [[ $current == --*=* ]] && compset -P '--*='
  if [[ $answer[1] == files ]]; then
    _files
    return
  fi
  for line in "\${(@)answer[2,-1]}"; do
    values+=("\${\${line%%$'\\t'*}#\${IPREFIX}}")
    displays+=("\${line/$'\\t'/  -- }")
  done
  (( $#values )) || return 1
  compadd -l -d displays -a -- values
}
if [[ $funcstack[1] == _monitor ]]; then
  _monitor "$@"
else
  compdef _monitor monitor
fi
`,
    words: (asked) => asked,
    line: describedLine,
  },
  fish: {
    script: `# Completion of monitor for fish: put it into ~/.config/fish/completions as monitor.fish.
function __monitor_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    set -e before[1]
    type -q -- $program
    or set program monitor
    set -l answer ($program __complete fish -- $before "$current" 2>/dev/null </dev/null)
    if test "$answer[1]" = files
        set -l option (string match -r -- '^--[^=]*=' "$current")
        # What follows a command that fish knows nothing of is a path.
        for path in (complete -C "'' "(string replace -r -- '^--[^=]*=' '' "$current"))
            echo -- "$option$path"
        end
    else
        printf '%s\\n' $answer[2..-1]
    end
end
complete -c monitor -f -a '(__monitor_complete)'
`,
    words: (asked) => asked,
    line: describedLine,
  },
};

/** zsh and fish filter and quote by themselves, and show descriptions. */
function describedLine({ value, description }: Candidate): string {
  return description === "" ? value : `${value}\t${description}`;
}

/** The output for a shell: the kind of candidates, then one a line. */
export function answerText(shell: Shell, completion: Completion, asked: readonly string[]): string {
  if (completion === "files") return "files\n";
  const lines = completion
    // A line is a candidate, so that a name with a line break cannot be one.
    .filter(({ value }) => !/\p{Cc}/u.test(value))
    .map((candidate) => SHELL_ENTRIES[shell].line(candidate, asked))
    .filter((line) => line !== null);
  return ["words", ...lines, ""].join("\n");
}

/**
 * A line of bash up to the cursor: its words without their quotes, and the position from which readline replaces the
 * last of them. bash passes a completion the words in pieces, split at every colon, with their quotes. Removing these
 * in bash would need `eval`, which would run an unfinished command.
 */
export interface BashLine {
  /** Without quotes and backslashes; the last one is at the cursor, and may be empty. */
  readonly words: readonly string[];
  /** How many characters of the last word are before the part that readline replaces. */
  readonly keptLength: number;
  /** The quote that is open at the cursor. */
  readonly quote: "" | '"' | "'";
}

/** Splits a line; `breaks` is `COMP_WORDBREAKS`. */
export function readBashLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let word = "";
  let isBegun = false;
  let kept = 0;
  let keptOutside = 0;
  let quote: BashLine["quote"] = "";
  let isEscaped = false;
  for (const character of line) {
    if (isEscaped) {
      // Between double quotes a backslash is literal before most characters.
      word += quote === '"' && !'$`"\\'.includes(character) ? `\\${character}` : character;
      isEscaped = false;
    } else if (character === "\\" && quote !== "'") {
      isEscaped = isBegun = true;
    } else if (quote !== "") {
      if (character === quote) {
        quote = "";
        kept = keptOutside;
      } else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      isBegun = true;
      keptOutside = kept;
      kept = word.length;
    } else if (/\s/.test(character)) {
      if (isBegun) words.push(word);
      word = "";
      isBegun = false;
      kept = 0;
    } else {
      word += character;
      isBegun = true;
      if (breaks.includes(character)) kept = word.length;
    }
  }
  return { words: [...words, word], keptLength: kept, quote };
}

/** Quotes a text so that bash reads one word, or the continuation of an open quote, which is not closed. */
export function quoteForBash(text: string, quote: BashLine["quote"]): string {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  // An exclamation mark would be replaced from the history, and a backslash does not escape it between double quotes.
  if (quote === '"') return text.replace(/[$`"\\]/g, "\\$&").replaceAll("!", `"'!'"`);
  return text.replace(
    /[\x20-\x7e]/g,
    (character) => /[\w./,+@%=:^-]/.test(character) ? character : `\\${character}`,
  );
}

export interface Candidate {
  /** The whole word as an argument: without quotes. */
  readonly value: string;
  /** A line for people; may be empty. */
  readonly description: string;
}

/** The words to offer, or `files`: the shell completes paths better than we could. */
type Completion = readonly Candidate[] | "files";

interface CompletionSources {
  readonly commands: readonly Command[];
  /** Names in the config that `--config` names, or in the one that is found; none if it is not valid. */
  namesIn(config: string | undefined, names: ConfigNames): Promise<readonly Candidate[]>;
}

/** Returns the candidates for the last word, not yet filtered by its beginning. */
export async function complete(words: readonly string[], sources: CompletionSources): Promise<Completion> {
  const { commands, namesIn } = sources;
  const current = words.at(-1) ?? "";
  const typed = readTyped(words.slice(0, -1), commands);
  const valuesOf = async ({ names, choices, value = "" }: OptionSpec, prefix = ""): Promise<Completion> => {
    if (names === undefined && choices === undefined && PATH_VALUES.includes(value)) return "files";
    const named = names === undefined
      ? (choices ?? []).map(toCandidate)
      : await namesIn(typed.options.get("config"), names);
    return named.map((candidate) => ({ ...candidate, value: `${prefix}${candidate.value}` }));
  };
  if (typed.awaited !== null) return await valuesOf(typed.awaited);
  const specs = [...typed.command?.options ?? [], ...COMMON_OPTIONS];
  if (!typed.onlyOperands && current.startsWith("-")) {
    const [, name] = /^--([^=]*)=/.exec(current) ?? [];
    const spec = specs.find((candidate) => candidate.name === name);
    if (spec !== undefined) return await valuesOf(spec, `--${spec.name}=`);
    const open = specs.filter(({ name, repeatable }) => repeatable === true || !typed.options.has(name));
    // The short form is offered if it was typed, so that the shell continues behind it.
    return open.map(({ name, short = "", description }) => (
      { value: current === `-${short}` && short !== "" ? current : `--${name}`, description }
    ));
  }
  const commandWords = commands.map(({ name, summary }) => ({ value: name, description: summary }));
  if (typed.word === "help") return typed.operands.length === 0 ? commandWords : [];
  if (typed.word === null) {
    return [...commandWords, { value: "help", description: "show the help of a command" }];
  }
  const { command, operands } = typed;
  if (command === null || operands.length >= operandsMax(command)) return [];
  const { operands: usage = "", firstOperands = usage.match(/[a-z]+/g) ?? [] } = command;
  const first = operands.length === 0 ? firstOperands.map(toCandidate) : [];
  if (first.length > 0 && !usage.startsWith("[")) return first;
  if (!usage.includes("NAME")) return "files";
  const named = await namesIn(typed.options.get("config"), "checks");
  // Before -- a hyphen would make it an option.
  const fitting = named.filter(({ value }) => typed.onlyOperands || !value.startsWith("-"));
  return [...first, ...fitting.filter(({ value }) => !operands.includes(value))];
}

/** The values of options by name; that of a flag is empty. `onlyOperands`: `--` came. */
function readTyped(words: readonly string[], commands: readonly Command[]) {
  const every = [...commands.flatMap((command) => command.options), ...COMMON_OPTIONS];
  const options = new Map<string, string>();
  const others: string[] = [];
  let awaited: OptionSpec | null = null;
  let onlyOperands = false;
  for (const word of words) {
    if (awaited !== null) {
      options.set(awaited.name, word);
      awaited = null;
    } else if (onlyOperands || !word.startsWith("-") || word === "-") {
      others.push(word);
    } else if (word === "--") {
      onlyOperands = true;
    } else {
      const [, long, separator, value] = /^--([^=]*)(=?)(.*)$/s.exec(word) ?? [];
      const short = word.slice(1, 2);
      // Options of one name may have other values with another command.
      const own = commands.find(({ name }) => name === others[0])?.options ?? [];
      const spec = [...own, ...every].find(({ name, short: letter }) =>
        long === undefined ? letter === short : name === long
      );
      if (spec === undefined) continue;
      const given = long === undefined ? word.slice(2) : value ?? "";
      if (spec.value !== undefined && given === "" && separator !== "=") awaited = spec;
      else options.set(spec.name, given);
    }
  }
  const [word = null, ...operands] = others;
  const command = commands.find(({ name }) => name === word) ?? null;
  return { word, command, operands, options, awaited, onlyOperands };
}

/** The words with which the help names the value of an option that is a path. */
const PATH_VALUES: readonly string[] = ["PATH", "FILE", "FOLDER"];

function toCandidate(value: string): Candidate {
  return { value, description: "" };
}
