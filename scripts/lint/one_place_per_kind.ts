import { isIn, placedRule } from "./place.ts";
import {
  identifierName,
  isWrapping,
  memberName,
  type Node,
  parentOf,
  textOf,
  withoutWrapping,
  withWrapping,
} from "./syntax.ts";

/** Check and channel kinds whose name can hardly mean anything else. */
const TELLING_KINDS: ReadonlySet<string> = new Set([
  "desktop_notification",
  "disk_space",
  "file_timestamp",
  "file_touch",
  "http_request",
  "script",
  "systemd_unit",
]);

/** Kinds whose name is also a common word: they count only where they are compared with a kind. */
const COMMON_KINDS: ReadonlySet<string> = new Set([
  "command",
  "console",
  "email",
  "job",
  "load",
  "memory",
  "process",
  "test",
  "webhook",
]);

const HINT = "make what varies by kind a field of the kind's entry, and take it from the registry";

/** The rooms that have a file for each kind, and a registry of them. */
const KIND_LAYERS: readonly string[] = ["src/channels/", "src/checks/"];

/** Files that write configs, in which kinds are named as in any config. They don't decide by a kind either. */
const CONFIG_WRITERS: readonly string[] = ["src/import/", "src/cli/demo/demo_checks.ts"];

/**
 * `one-place-per-kind`: a registry has everything that varies by kind, and the program never decides by a kind's
 * name, so that a new kind is one new file and nothing is forgotten. No `switch` on a kind, no comparison of one with
 * a name; the names are in domain, in the registries, in the file named for the kind, and where configs are written.
 * Types may name kinds everywhere: the compiler checks them.
 */
export const onePlacePerKind: Deno.lint.Rule = placedRule((context, path) => {
  if (!path.startsWith("src/") || path.startsWith("src/domain/")) return {};
  const inRegistry = isIn(path, KIND_LAYERS.map((layer) => `${layer}registry.ts`));

  const checkName = (node: Node, name: string | null) => {
    if (name === null || !TELLING_KINDS.has(name) || inRegistry) return;
    if (isIn(path, homesOf(name)) || isIn(path, CONFIG_WRITERS)) return;
    if (isType(node) || isPartOfDecision(node)) return;
    context.report({
      node,
      message: `Kind "${name}" is named outside its own file`,
      hint: HINT,
    });
  };

  return {
    SwitchStatement(node) {
      if (!isKind(node.discriminant)) return;
      context.report({
        node: node.discriminant,
        message: "A switch on a kind has to be found again for each new kind",
        hint: HINT,
      });
    },
    BinaryExpression(node) {
      const name = comparedKind(node);
      if (name === null) return;
      context.report({
        node,
        message: `A comparison with kind "${name}" has to be found again for each new kind`,
        hint: HINT,
      });
    },
    Literal(node) {
      checkName(node, textOf(node));
    },
    TemplateLiteral(node) {
      checkName(node, textOf(node));
    },
    Identifier(node) {
      // A property or a key with such a name is a table by kind; `script` alone is too common a word for that.
      if (node.name.includes("_") && namesMember(node)) checkName(node, node.name);
    },
  };
});

/** The files that may name a kind: the one named for it, or those in a directory named for it. */
function homesOf(kind: string): readonly string[] {
  return KIND_LAYERS.flatMap((layer) => [`${layer}${kind}.ts`, `${layer}${kind}/`]);
}

/** `….kind`, or a variable of that name. */
function isKind(node: Node): boolean {
  const inner = withoutWrapping(node);
  return identifierName(inner) === "kind" ||
    inner.type === "MemberExpression" && memberName(inner) === "kind";
}

/** The kind's name in `check.kind === "script"`, either way round; `null` for anything else. */
function comparedKind({ operator, left, right }: Deno.lint.BinaryExpression): string | null {
  if (!/^[!=]==?$/.test(operator)) return null;
  const name = isKind(left)
    ? textOf(withoutWrapping(right))
    : isKind(right)
    ? textOf(withoutWrapping(left))
    : null;
  return name !== null && (TELLING_KINDS.has(name) || COMMON_KINDS.has(name)) ? name : null;
}

/** Returns whether the name stands in a switch or comparison that is reported as a whole. */
function isPartOfDecision(node: Node): boolean {
  const parent = parentOf(withWrapping(node));
  if (parent?.type === "BinaryExpression") return comparedKind(parent) !== null;
  if (parent?.type !== "SwitchCase") return false;
  const around = parentOf(parent);
  return around?.type === "SwitchStatement" && isKind(around.discriminant);
}

/** TypeScript's own syntax contains types, unless it only wraps a value: `"script" as const`. */
function isType(node: Node): boolean {
  const parent = parentOf(node);
  return parent !== null && parent.type.startsWith("TS") && !isWrapping(parent);
}

/** `table.http_request`, or the key of `{ http_request: … }`; a shorthand key is recognized by its value. */
function namesMember(node: Deno.lint.Identifier): boolean {
  const parent = node.parent;
  if (parent.type === "MemberExpression") return parent.property === node && !parent.computed;
  return parent.type === "Property" && parent.key === node && !parent.computed;
}
