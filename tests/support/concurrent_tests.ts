/**
 * Cases of one test that run at the same time. Deno runs the tests of a module one after another, but a case that
 * starts `monitor` waits for its timers most of the time.
 *
 * `TEST_CASE=text deno task test FILE` runs only the cases whose name contains that text.
 */

export type AddCase = (name: string, run: RunCase, options?: CaseOptions) => void;

/** Runs a case, which may add further cases: those of a table. Its context runs steps one after another. */
export type RunCase = (add: AddCase, context: Deno.TestContext) => void | Promise<void>;

export interface CaseOptions {
  /** Whether it is ignored; `requiresTools()` returns it. */
  readonly ignore?: boolean;
}

/** How many cases run at the same time: they wait most of the time, but many more would compete for the processors. */
const RUNNING_MAX = 2 * navigator.hardwareConcurrency;

export interface ConcurrencyOptions {
  /** @default twice the number of processors */
  readonly runningMax?: number;
  /** Whether all cases are ignored; `requiresTools()` returns it. */
  readonly ignore?: boolean;
}

/**
 * Returns a function that adds a case to a test, as `Deno.test()` adds a test. Each case is a step. The test as a whole
 * is checked for leaked operations and resources.
 */
export function concurrentTests(name: string, options: ConcurrencyOptions = {}): AddCase {
  const wanted = Deno.env.get("TEST_CASE") ?? "";
  const cases: Parameters<AddCase>[] = [];
  const run = async (context: Deno.TestContext): Promise<void> => {
    await using steps = concurrentSteps(context, options);
    for (const parts of cases) steps.add(...parts);
  };
  Deno.test(name, { ignore: options.ignore ?? false }, run);
  return (...parts) => void (parts[0].includes(wanted) && cases.push(parts));
}

/** Returns a function that adds tests or cases which run with what a function provides, such as a harness. */
export function provided<Use>(
  provide: (use: Use) => unknown,
  test: (name: string, run: () => Promise<void>, options?: CaseOptions) => void,
): (name: string, use: Use, options?: CaseOptions) => void {
  return (name, use, options) => test(name, async () => void await provide(use), options);
}

export interface ConcurrentSteps extends AsyncDisposable {
  /** Starts a step, after earlier ones if too many run. A step that fails does not end the others. */
  readonly add: AddCase;
}

/** Returns an object that runs steps at the same time. Its disposal waits for all of them. */
export function concurrentSteps(
  context: Deno.TestContext,
  { runningMax = RUNNING_MAX }: ConcurrencyOptions = {},
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
  const add: AddCase = (name, run, { ignore = false } = {}) => {
    const fn = (own: Deno.TestContext): void | Promise<void> =>
      run((inner, runInner, options) => add(`${name}: ${inner}`, runInner, options), own);
    // A sanitizer cannot distinguish one step's leftovers from another's work.
    pending.push({ name, fn, ignore, sanitizeOps: false, sanitizeResources: false, sanitizeExit: false });
    startNext();
  };
  return {
    add,
    async [Symbol.asyncDispose]() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
