import type { NtpRequest, NtpSettings } from "../../../operations/ntp.ts";
import type { ManagedManager } from "../resources/managed-manager.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { WriteRequest } from "../resources/writer.ts";

/** One place where a BMC keeps its NTP settings, as it was just read. */
export interface NtpPlace {
  readonly settings: NtpSettings;
  /** What makes them so. Throws `unsupported` for more servers than the place takes. */
  request(asked: NtpRequest): WriteRequest;
}

export interface NtpParts {
  readonly system: ManagedSystem;
  readonly manager: ManagedManager;
}
