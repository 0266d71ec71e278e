import type { Candidate, Completion } from "./complete_line.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = typeof SHELLS[number];

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
  if (completion.offers === "files") return "files\n";
  const lines = completion.candidates
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
