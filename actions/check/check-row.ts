import type { ErrorClass } from "../../shared/contract/error-class.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";

/** What is looked at with each provider, in this order. */
export const CHECK_NAMES = [
  "login",
  "certificate",
  "power",
  "boot",
  "manager",
  "clock",
  "ntp",
  "media",
  "users",
  "sel",
  "inventory",
  "sol",
  "nmi",
  "screenshot",
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

export const CHECK_STATES = ["ok", "warning", "failed", "unsupported", "not tried"] as const;
export type CheckState = (typeof CHECK_STATES)[number];

/** What a look at one thing came to. */
export interface Finding {
  readonly state: CheckState;
  /** One line for people. */
  readonly detail: string;
  /** The error class with which an action would fail; absent if the check is ok. */
  readonly class?: ErrorClass;
}

export interface CheckRow extends Finding {
  readonly provider: ProviderName;
  readonly check: CheckName;
  /** Of this look; both absent where the BMC was not asked. */
  readonly durationMs?: number;
  readonly roundTrips?: number;
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
