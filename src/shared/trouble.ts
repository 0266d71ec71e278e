export interface Trouble<Failure> {
  readonly isPresent: boolean;
  /** Records the outcome of the latest attempt; `null` is a success. */
  set(failure: Failure | null): void;
}

/** Reports a failure when it begins, and `null` when it is over, however many attempts fail in between. */
export function createTrouble<Failure>(report: (failure: Failure | null) => void): Trouble<Failure> {
  let isPresent = false;
  return {
    get isPresent() {
      return isPresent;
    },
    set: (failure) => {
      if (isPresent === (failure !== null)) return;
      isPresent = failure !== null;
      report(failure);
    },
  };
}
