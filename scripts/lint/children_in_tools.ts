import { runtimeModule, visitModules } from "./modules.ts";
import { isIn, placedRule } from "./place.ts";
import { isGlobalUse } from "./scope.ts";
import { membersTaken } from "./syntax.ts";

/** The module that starts children, and scripts that tests run as separate processes. */
const ALLOWED: readonly string[] = [
  "testing/tools.ts",
  // Tests the limits of the runtime's permissions.
  "tests/executable/attempts.ts",
];

/**
 * `children-in-tools`: tests start child processes through `testing/tools.ts` alone. So every external tool is in
 * its table, and no child process runs without a limit.
 */
export const childrenInTools: Deno.lint.Rule = placedRule((context, path) => {
  if (!/^test(s|ing)\//.test(path) || isIn(path, ALLOWED)) return {};
  const report = (node: Deno.lint.Node, what: string) => {
    context.report({
      node,
      message: `${what} starts a child process that testing/tools.ts doesn't know`,
      hint: "use runChild() or startChild() with tool()",
    });
  };
  return {
    Identifier(node) {
      if (node.name !== "Deno" || !isGlobalUse(node)) return;
      for (const use of membersTaken(node)) if (use.name === "Command") report(use.node, "Deno.Command");
    },
    ...visitModules(({ specifier, typeOnly, node }) => {
      if (specifier === null || typeOnly) return;
      if (runtimeModule(specifier) === "node:child_process") report(node, "node:child_process");
    }),
  };
});
