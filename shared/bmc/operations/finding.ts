import type { ErrorClass } from "../../contract/error-class.ts";

export const CHECK_STATES = ["ok", "warning", "failed", "unsupported", "not tried"] as const;
/** Whether operations would work. */
export type CheckState = (typeof CHECK_STATES)[number];

/** What a check found out. */
export interface Finding {
  /** Whether the operations would work. */
  readonly state: CheckState;
  /** One line for people. */
  readonly detail: string;
  /** The error class with which an action would fail; absent if the check is ok. */
  readonly class?: ErrorClass;
}

export const ok = (detail: string): Finding => ({ state: "ok", detail });
export const warning = (errorClass: ErrorClass, detail: string): Finding => ({
  state: "warning",
  detail,
  class: errorClass,
});
export const failed = (errorClass: ErrorClass, detail: string): Finding => ({
  state: "failed",
  detail,
  class: errorClass,
});
export const unsupported = (detail: string): Finding => ({
  state: "unsupported",
  detail,
  class: "unsupported",
});
export const notTried = (errorClass: ErrorClass, detail: string): Finding => ({
  state: "not tried",
  detail,
  class: errorClass,
});

/** A driver whose BMC can be asked whether it has what only using it would prove. */
export interface OfferedDriver {
  /**
   * Asks without using it; undefined where the BMC cannot say. Throws `unsupported` where the BMC is known not to
   * offer it.
   */
  offered(signal: AbortSignal): Promise<true | undefined>;
}

export function describeOffer(offered: true | undefined): Finding {
  return offered
    ? ok("offered")
    : notTried("unsupported", "the BMC does not report whether it supports this");
}
