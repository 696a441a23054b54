import type { ErrorClass } from "../../../shared/contract/error-class.ts";

/** Why an action got no outcome of its own; the message is one line. */
export class LaunchFailure extends Error {
  override readonly name = "LaunchFailure";
  readonly class: ErrorClass;

  constructor(errorClass: ErrorClass, message: string) {
    super(message);
    this.class = errorClass;
  }
}
