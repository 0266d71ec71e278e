/**
 * Wraps `Deno.test` so that every test and every step is noted while it runs. The test runner (`scripts/test.ts`)
 * loads it into each test module by `--preload`.
 */
import { type FailedTest, noteFailed, notingStep, notingTest, startNotes } from "../../testing/test_notes.ts";

type TestFunction = Deno.TestDefinition["fn"];
type StepFunction = Deno.TestStepDefinition["fn"];

startNotes();
const original = Deno.test;

// All forms: (name, fn), (fn), (name, options, fn), (options, fn), (definition).
const wrapped = (...parts: unknown[]): void => {
  const place = placeOfCaller();
  const call = original as (...parts: unknown[]) => void;
  call(
    ...parts.map((part) =>
      typeof part === "function"
        ? testOf({ test: nameOf(parts), place }, part as TestFunction)
        : isDefinition(part)
        ? { ...part, fn: testOf({ test: part.name, place }, part.fn as TestFunction) }
        : part
    ),
  );
};
Object.assign(Deno, { test: Object.assign(wrapped, original) });

/** Returns where a test module has registered a test, itself or by `concurrentTests()`. */
function placeOfCaller(): string {
  const frames = [...(new Error().stack ?? "").matchAll(/file:\/\/\S*?\/(tests\/[^\s()]+:\d+:\d+)/g)];
  const place = frames.find(([, path]) => path?.startsWith("tests/support/") === false)?.[1];
  return `./${place ?? "tests"}`;
}

function testOf(failed: FailedTest, run: TestFunction): TestFunction {
  return (context) =>
    notingTest(failed.test, () => notingFailure(failed, () => run(withSteps(context, failed))));
}

function withSteps(context: Deno.TestContext, failed: FailedTest): Deno.TestContext {
  const step = (...parts: unknown[]): Promise<boolean> => {
    const call = context.step.bind(context) as (...parts: unknown[]) => Promise<boolean>;
    const name = nameOf(parts);
    return call(
      ...parts.map((part) =>
        typeof part === "function"
          ? stepOf(name, part as StepFunction, failed)
          : isDefinition(part)
          ? { ...part, fn: stepOf(part.name, part.fn as StepFunction, failed) }
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

function stepOf(name: string, run: StepFunction, failed: FailedTest): StepFunction {
  return (context) => notingStep(name, () => notingFailure(failed, () => run(withSteps(context, failed))));
}

async function notingFailure(failed: FailedTest, run: () => void | Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    noteFailed(failed);
    throw error;
  }
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
