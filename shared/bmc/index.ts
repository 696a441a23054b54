/** The BMC library as other programs import it: `pbnj-worker/bmc`. Documented in docs/reference/bmc-library.md. */

export { BmcError } from "../contract/bmc-error.ts";
export { Connection, serialiseConnection } from "../contract/connection.ts";
export type { ErrorClass } from "../contract/error-class.ts";
export { errorClassOf, exitCodeOf } from "../contract/exit-code.ts";
export type {
  BootDevice,
  BootMode,
  BootModeChoice,
  PowerState,
  ProviderName,
} from "../contract/vocabulary.ts";
export type { Logger } from "../logger.ts";
export { Secret } from "../secret.ts";
export { BmcClient, type BmcClientOptions, type Plan } from "./client.ts";
export type { BootReport } from "./operations/boot.ts";
export type { ManagerResetReport } from "./operations/manager.ts";
export type { MediaReport } from "./operations/media.ts";
export type { NmiReport } from "./operations/nmi.ts";
export type { NtpReport } from "./operations/ntp.ts";
export type { OffMode, PowerReport, PowerRequest } from "./operations/power.ts";
export type { SelReport } from "./operations/sel.ts";
export type { SolReport } from "./operations/sol.ts";
export type { UserReport, UserRequest } from "./operations/users.ts";
export type {
  BmcInfo,
  BmcResetKind,
  BmcUser,
  BootOverride,
  BootRequest,
  Hardware,
  MediaState,
  NtpRequest,
  NtpSettings,
  Offer,
  Screenshot,
  SelEntry,
  UserRole,
} from "./provider.ts";
export type { SessionDescription } from "./session-description.ts";
