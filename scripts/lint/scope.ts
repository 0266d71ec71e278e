import { type Node, parentOf } from "./syntax.ts";

/**
 * Returns whether an identifier is a global value: it is not a type, a property name, a label or the like, and
 * nothing around it in the file declares that name. A `var` counts for the block it is in.
 */
export function isGlobalUse(identifier: Deno.lint.Identifier): boolean {
  if (!isValue(identifier)) return false;
  for (let scope = parentOf(identifier); scope !== null; scope = parentOf(scope)) {
    if (declares(scope, identifier.name)) return false;
  }
  return true;
}

/** TypeScript's own syntax contains types, except for these. */
const VALUE_PARENTS_OF_TYPESCRIPT: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSExportAssignment",
  "TSInstantiationExpression",
  "TSNonNullExpression",
  "TSParameterProperty",
  "TSSatisfiesExpression",
  "TSTypeAssertion",
]);

/** Places where a name is only a name. */
const NAMING_PARENTS: ReadonlySet<string> = new Set([
  "BreakStatement",
  "ContinueStatement",
  "ExportSpecifier",
  "ImportAttribute",
  "ImportDefaultSpecifier",
  "ImportNamespaceSpecifier",
  "ImportSpecifier",
  "LabeledStatement",
  "MetaProperty",
]);

function isValue(identifier: Deno.lint.Identifier): boolean {
  const parent = identifier.parent;
  if (NAMING_PARENTS.has(parent.type)) return false;
  if (parent.type === "MemberExpression") return parent.computed || parent.object === identifier;
  if (parent.type === "TSEnumMember") return parent.initializer === identifier;
  if (parent.type.startsWith("TS")) return VALUE_PARENTS_OF_TYPESCRIPT.has(parent.type);
  if ("key" in parent && "computed" in parent) return parent.computed || parent.key !== identifier;
  return true;
}

/** Missing nodes are `null` in the runtime's types, and sometimes `undefined` at run time. */
type Absent = null | undefined;

function declares(scope: Node, name: string): boolean {
  switch (scope.type) {
    case "Program":
    case "BlockStatement":
    case "TSModuleBlock":
      return scope.body.some((statement) => statementDeclares(statement, name));
    case "SwitchStatement":
      return scope.cases.some((one) =>
        one.consequent.some((statement) => statementDeclares(statement, name))
      );
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return scope.id?.name === name || scope.params.some((parameter) => binds(parameter, name));
    case "ClassExpression":
      return scope.id?.name === name;
    case "ForStatement":
      return statementDeclares(scope.init, name);
    case "ForInStatement":
    case "ForOfStatement":
      return statementDeclares(scope.left, name);
    case "CatchClause":
      return binds(scope.param, name);
    default:
      return false;
  }
}

/** `declare` describes an existing value, so it declares nothing local. */
function statementDeclares(statement: Absent | Node, name: string): boolean {
  switch (statement?.type) {
    case "VariableDeclaration":
      return !statement.declare && statement.declarations.some((one) => binds(one.id, name));
    case "FunctionDeclaration":
    case "ClassDeclaration":
    case "TSEnumDeclaration":
    case "TSModuleDeclaration":
      return !statement.declare && binds(statement.id, name);
    case "ImportDeclaration":
      return statement.specifiers.some((specifier) => specifier.local.name === name);
    case "ExportNamedDeclaration":
    case "ExportDefaultDeclaration":
      return statementDeclares(statement.declaration, name);
    default:
      return false;
  }
}

function binds(pattern: Absent | Node | Deno.lint.Parameter, name: string): boolean {
  switch (pattern?.type) {
    case "Identifier":
      return pattern.name === name;
    case "AssignmentPattern":
      return binds(pattern.left, name);
    case "RestElement":
      return binds(pattern.argument, name);
    case "TSParameterProperty":
      return binds(pattern.parameter, name);
    case "ArrayPattern":
      return pattern.elements.some((element) => binds(element, name));
    case "ObjectPattern":
      return pattern.properties.some((one) => binds(one.type === "Property" ? one.value : one, name));
    default:
      return false;
  }
}
