import { isIn, OUTSIDE_THE_LAYERS, placedRule } from "./place.ts";
import { isGlobalUse } from "./scope.ts";
import { membersTaken, type MemberUse, parentOf, withWrapping } from "./syntax.ts";

/** The globals that can end the process, and how each is asked to. */
const EXITING_GLOBALS: ReadonlySet<string> = new Set(["Deno", "process"]);
const ENDS: ReadonlySet<string> = new Set(["exit", "reallyExit", "abort"]);
const EXIT_CODE = "exitCode";

/**
 * `exit-in-main`: only `main.ts` and `program.ts` end the process or set its exit code; everything else returns or throws.
 * So whatever must happen before the end (a child to kill, a line to write) cannot be skipped by a call deep below.
 */
export const exitInMain: Deno.lint.Rule = placedRule((context, path) => {
  if (isIn(path, OUTSIDE_THE_LAYERS)) return {};
  return {
    Identifier(node) {
      if (!EXITING_GLOBALS.has(node.name) || !isGlobalUse(node)) return;
      for (const use of membersTaken(node)) {
        if (use.name === null || !ENDS.has(use.name) && !setsExitCode(use)) continue;
        context.report({
          node: use.node,
          message: `${node.name}.${use.name} is only for main.ts and program.ts`,
          hint: "return the exit code, or throw an error that main.ts turns into one",
        });
      }
    },
  };
});

function setsExitCode({ name, node }: MemberUse): boolean {
  const parent = parentOf(withWrapping(node));
  return name === EXIT_CODE && parent?.type === "AssignmentExpression" && parent.left === node;
}
