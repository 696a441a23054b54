import type { ErrorClass } from "../../contract/error-class.ts";

export const CHECK_STATES = ["ok", "warning", "failed", "unsupported", "not tried"] as const;
/** Whether operations would work. */
export type CheckState = (typeof CHECK_STATES)[number];

/** The result of a check. */
export interface Finding {
  /** Whether the operations would work. */
  readonly state: CheckState;
  /** One line for display. */
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

/** A driver that can ask its BMC whether it supports what otherwise only using it would prove. */
export interface OfferedDriver {
  /**
   * Asks without using it. Resolves to undefined if the BMC cannot say. Throws `unsupported` if the BMC is known not to
   * support it.
   */
  offered(signal: AbortSignal): Promise<true | undefined>;
}

export function describeOffer(offered: true | undefined): Finding {
  return offered
    ? ok("offered")
    : notTried("unsupported", "the BMC does not report whether it supports this");
}
