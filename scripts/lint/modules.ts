import { identifierName, type Node, textOf } from "./syntax.ts";

/** A place where a file names another module: an import, an export from it, a dynamic import, an import type. */
export interface ModuleUse {
  /** `null` when the code computes it. */
  readonly specifier: string | null;
  /** The whole statement or expression. */
  readonly node: Node;
  /** Names of the values that are taken; `null` among them is the module as a whole. */
  readonly values: readonly (string | null)[];
  /** Whether nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

/** A visitor that reports every use of another module. */
export function visitModules(found: (use: ModuleUse) => void): Deno.lint.LintVisitor {
  return {
    ImportDeclaration(node) {
      const values = node.specifiers.filter((specifier) => !isType(specifier)).map(importedName);
      const onlyTypesNamed = node.specifiers.length > 0 && values.length === 0;
      const typeOnly = node.importKind === "type" || onlyTypesNamed;
      found({ specifier: node.source.value, node, values, typeOnly });
    },
    ExportNamedDeclaration(node) {
      if (!node.source) return;
      const values = node.specifiers.filter((specifier) => specifier.exportKind !== "type").map((specifier) =>
        identifierName(specifier.local) ?? textOf(specifier.local)
      );
      const onlyTypesNamed = node.specifiers.length > 0 && values.length === 0;
      const typeOnly = node.exportKind === "type" || onlyTypesNamed;
      found({ specifier: node.source.value, node, values, typeOnly });
    },
    ExportAllDeclaration(node) {
      found({ specifier: node.source.value, node, values: [null], typeOnly: node.exportKind === "type" });
    },
    ImportExpression(node) {
      found({ specifier: textOf(node.source), node, values: [null], typeOnly: false });
    },
    TSImportType(node) {
      const argument: Node = node.argument;
      const specifier = argument.type === "TSLiteralType" ? textOf(argument.literal) : null;
      found({ specifier, node, values: [], typeOnly: true });
    },
  };
}

/** Returns the name of a module of the runtime: `fs`, `node:fs` and `node:fs/promises` are all `node:fs`. */
export function runtimeModule(specifier: string): string {
  return `node:${specifier.replace(/^node:/, "").replace(/\/.*$/, "")}`;
}

type ImportClause = Deno.lint.ImportDeclaration["specifiers"][number];

function isType(clause: ImportClause): boolean {
  return clause.type === "ImportSpecifier" && clause.importKind === "type";
}

function importedName(clause: ImportClause): string | null {
  if (clause.type !== "ImportSpecifier") return null;
  return identifierName(clause.imported) ?? textOf(clause.imported);
}
