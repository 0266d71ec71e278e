/**
 * Wraps `Deno.test` so that every test and every step is noted while it runs, and an error that nothing catches fails
 * the running test, not all tests of its layer. The test runner (`scripts/test.ts`) loads it by `--preload`.
 */
import {
  noteFailed,
  notePlace,
  notingStep,
  notingTest,
  startNotes,
  type TestPlace,
} from "../../testing/test_notes.ts";
import { onUncaught } from "../../testing/uncaught.ts";

type TestFunction = Deno.TestDefinition["fn"];
type StepFunction = Deno.TestStepDefinition["fn"];

startNotes();
const original = Deno.test;
/** The running test, or the last one, with the errors that nothing caught while it ran. */
let present: { readonly place: TestPlace; readonly uncaught: unknown[] | null } | null = null;

onUncaught((error) => {
  if (present === null) return false;
  if (present.uncaught === null) noteFailed({ ...present.place, error: `After its end: ${textOf(error)}` });
  else present.uncaught.push(error);
  return true;
});

// All forms: (name, fn), (fn), (name, options, fn), (options, fn), (definition).
const wrapped = (...parts: unknown[]): void => {
  const place: TestPlace = { test: nameOf(parts), place: placeOfCaller() };
  notePlace(place);
  const call = original as (...parts: unknown[]) => void;
  call(
    ...parts.map((part) =>
      typeof part === "function"
        ? testOf(place, part as TestFunction)
        : isDefinition(part)
        ? { ...part, fn: testOf(place, part.fn as TestFunction) }
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

function testOf(place: TestPlace, run: TestFunction): TestFunction {
  return (context) =>
    notingTest(place, () =>
      notingFailure(place, async () => {
        const uncaught: unknown[] = [];
        present = { place, uncaught };
        try {
          await run(withSteps(context, place));
        } finally {
          present = { place, uncaught: null };
        }
        if (uncaught.length > 0) throw uncaught[0];
      }));
}

function withSteps(context: Deno.TestContext, place: TestPlace): Deno.TestContext {
  const step = (...parts: unknown[]): Promise<boolean> => {
    const call = context.step.bind(context) as (...parts: unknown[]) => Promise<boolean>;
    const name = nameOf(parts);
    return call(
      ...parts.map((part) =>
        typeof part === "function"
          ? stepOf(name, part as StepFunction, place)
          : isDefinition(part)
          ? { ...part, fn: stepOf(part.name, part.fn as StepFunction, place) }
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

function stepOf(name: string, run: StepFunction, place: TestPlace): StepFunction {
  return (context) => notingStep(name, () => notingFailure(place, () => run(withSteps(context, place))));
}

async function notingFailure(place: TestPlace, run: () => void | Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    noteFailed({ ...place, error: textOf(error) });
    throw error;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
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
