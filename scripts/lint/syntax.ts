/** Any node of a parsed file. */
export type Node = Deno.lint.Node;

/** A property of a value, as far as the code shows it. */
export interface MemberUse {
  /** `null` when it may be any. */
  readonly name: string | null;
  /** The code of the property: `Date.now`, or the key `now` of `const { now } = Date`. */
  readonly node: Node;
}

/** Returns the properties that are read of the value of a node. Passing the value on may read any. */
export function membersTaken(value: Node): readonly MemberUse[] {
  const node = withWrapping(value);
  const parent = parentOf(node);
  if (parent?.type === "MemberExpression" && parent.object === node) {
    return [{ name: memberName(parent), node: parent }];
  }
  const pattern = patternFor(node);
  if (pattern === null) return [{ name: null, node }];
  // The key, since the range of a whole property is sometimes that of the whole pattern.
  return pattern.properties.map((property) =>
    property.type === "Property"
      ? { name: keyName(property), node: property.key }
      : { name: null, node: property }
  );
}

/** The name in `object.name` or `object["name"]`; `null` when it is computed. */
export function memberName(node: Deno.lint.MemberExpression): string | null {
  return node.computed ? textOf(node.property) : identifierName(node.property);
}

/** The text of a string literal or of a template without substitutions; `null` for anything else. */
export function textOf(node: Node): string | null {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) return node.quasis[0]?.cooked ?? null;
  return null;
}

/** The name of an identifier; `null` for anything else. */
export function identifierName(node: Node): string | null {
  return node.type === "Identifier" ? node.name : null;
}

/** The expression inside of all wrapping. */
export function withoutWrapping(node: Node): Node {
  let inner = node;
  while (isWrapping(inner)) inner = inner.expression;
  return inner;
}

/** The expression with all the wrapping around it. */
export function withWrapping(node: Node): Node {
  let outer = node;
  for (let parent = parentOf(node); parent !== null && isWrapping(parent); parent = parentOf(parent)) {
    outer = parent;
  }
  return outer;
}

/** The node around a node; `null` at the top. */
export function parentOf(node: Node): Node | null {
  // The runtime's own union of nodes lacks parameter properties, which may stand around a node all the same.
  return "parent" in node ? node.parent as Node : null;
}

/** An expression around an expression that changes only its type or ends an optional chain. */
export type Wrapping =
  | Deno.lint.ChainExpression
  | Deno.lint.TSAsExpression
  | Deno.lint.TSNonNullExpression
  | Deno.lint.TSSatisfiesExpression
  | Deno.lint.TSTypeAssertion;

/** Returns whether a node is such a wrapping. */
export function isWrapping(node: Node): node is Wrapping {
  return node.type === "ChainExpression" || node.type === "TSAsExpression" ||
    node.type === "TSNonNullExpression" ||
    node.type === "TSSatisfiesExpression" || node.type === "TSTypeAssertion";
}

/** The `{ … }` that a value is taken apart with: `const { … } = value` or `({ … } = value)`. */
function patternFor(value: Node): Deno.lint.ObjectPattern | null {
  const parent = parentOf(value);
  if (parent?.type === "VariableDeclarator" && parent.init === value) return objectPattern(parent.id);
  if (parent?.type === "AssignmentExpression" && parent.right === value) return objectPattern(parent.left);
  return null;
}

function objectPattern(node: Node): Deno.lint.ObjectPattern | null {
  return node.type === "ObjectPattern" ? node : null;
}

function keyName(property: Deno.lint.Property): string | null {
  const name = property.computed ? null : identifierName(property.key);
  return name ?? textOf(property.key);
}
