/**
 * Wraps `Deno.test` so that every test and every step is noted while it runs. The test runner (`scripts/test.ts`)
 * loads it into each test module by `--preload`.
 */
import { notingTest, startNotes, waitingFor } from "./test_notes.ts";

type TestFunction = Deno.TestDefinition["fn"];
type StepFunction = Deno.TestStepDefinition["fn"];

startNotes();
const original = Deno.test;

// All forms: (name, fn), (fn), (name, options, fn), (options, fn), (definition).
const wrapped = (...parts: unknown[]): void => {
  const call = original as (...parts: unknown[]) => void;
  call(
    ...parts.map((part) =>
      typeof part === "function"
        ? testOf(nameOf(parts), part as TestFunction)
        : isDefinition(part)
        ? { ...part, fn: testOf(part.name, part.fn as TestFunction) }
        : part
    ),
  );
};
Object.assign(Deno, { test: Object.assign(wrapped, original) });

function testOf(name: string, run: TestFunction): TestFunction {
  return (context) => notingTest(name, () => run(withSteps(context)));
}

function withSteps(context: Deno.TestContext): Deno.TestContext {
  const step = (...parts: unknown[]): Promise<boolean> => {
    const call = context.step.bind(context) as (...parts: unknown[]) => Promise<boolean>;
    const name = nameOf(parts);
    return call(
      ...parts.map((part) =>
        typeof part === "function"
          ? stepOf(name, part as StepFunction)
          : isDefinition(part)
          ? { ...part, fn: stepOf(part.name, part.fn as StepFunction) }
          : part
      ),
    );
  };
  return {
    name: context.name,
    origin: context.origin,
    ...context.parent && { parent: context.parent },
    step,
  };
}

function stepOf(name: string, run: StepFunction): StepFunction {
  return (context) => waitingFor(`step "${name}"`, Promise.resolve(run(withSteps(context))).then(() => {}));
}

function nameOf(parts: readonly unknown[]): string {
  for (const part of parts) {
    if (typeof part === "string") return part;
    if (typeof part === "object" && part !== null && "name" in part) return String(part.name);
  }
  const run = parts.find((part) => typeof part === "function");
  return typeof run === "function" ? run.name : "a test without a name";
}

function isDefinition(part: unknown): part is { readonly name: string; readonly fn: unknown } {
  return typeof part === "object" && part !== null && "fn" in part;
}
