/**
 * Cases of one test that run at the same time. Deno runs the tests of a module one after another, but a case that
 * starts `monitor` waits for its timers most of the time.
 */

/** Adds a case. */
export type AddCase = (name: string, run: RunCase) => void;

/** Runs a case, which may add cases of its own: those of a table. */
export type RunCase = (add: AddCase) => void | Promise<void>;

/** More would compete for the processors of a small machine. */
const RUNNING_MAX = 8;

/**
 * Registers a test and returns a function that adds a case to it, as `Deno.test()` adds a test. Each case is a step.
 * The test as a whole is checked for leaked operations and resources.
 */
export function concurrentTests(name: string): AddCase {
  const cases: (readonly [name: string, run: RunCase])[] = [];
  Deno.test(name, async (context) => {
    await using steps = concurrentSteps(context);
    for (const [name, run] of cases) steps.add(name, run);
  });
  return (name, run) => void cases.push([name, run]);
}

/** Steps of a test that run at the same time. */
export interface ConcurrentSteps extends AsyncDisposable {
  /** Starts a step, after earlier ones if too many run. A step that fails does not end the others. */
  readonly add: AddCase;
}

/** Returns an object that runs steps at the same time. Its disposal waits for all of them. */
export function concurrentSteps(
  context: Deno.TestContext,
  { runningMax = RUNNING_MAX }: { readonly runningMax?: number } = {},
): ConcurrentSteps {
  const pending: Deno.TestStepDefinition[] = [];
  const running = new Set<Promise<unknown>>();
  const startNext = (): void => {
    while (running.size < runningMax) {
      const step = pending.shift();
      if (step === undefined) return;
      const ended = context.step(step).finally(() => {
        running.delete(ended);
        startNext();
      });
      running.add(ended);
    }
  };
  const add: AddCase = (name, run) => {
    const fn = () => run((inner, runInner) => add(`${name}: ${inner}`, runInner));
    // A sanitizer cannot tell one step's leftovers from another's work.
    pending.push({ name, fn, sanitizeOps: false, sanitizeResources: false, sanitizeExit: false });
    startNext();
  };
  return {
    add,
    async [Symbol.asyncDispose]() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
