import { StoreError } from "../domain/store.ts";

/** Thrown if another monitor has the lock of the state, or may have it because the lock was lost. */
export class StateHeldError extends Error {
  override readonly name = "StateHeldError";
  readonly hint: string;

  constructor(message: string, hint = "run monitor status, or add --state none") {
    super(message);
    this.hint = hint;
  }
}

/** Returns the runtime's error if the state can't be used for lack of a permission; `null` for other errors. */
export function missingPermissionIn(error: unknown): Error | null {
  return error instanceof StoreError && error.cause instanceof Deno.errors.NotCapable ? error.cause : null;
}
