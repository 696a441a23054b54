import type { ErrorClass } from "../../../shared/contract/error-class.ts";

/** Why an action was not launched, in one line. */
export class LaunchFailure extends Error {
  override readonly name = "LaunchFailure";
  readonly class: ErrorClass;

  constructor(errorClass: ErrorClass, message: string) {
    super(message);
    this.class = errorClass;
  }
}
