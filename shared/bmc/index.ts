/** The BMC library for other programs: `@pbnj-worker/bmc`. It is documented in docs/reference/bmc-library.md. */

export { BmcError, type BmcErrorOptions } from "../contract/bmc-error.ts";
export { serialiseConnection } from "../contract/connection.ts";
export type { AuthRefusal, ErrorClass } from "../contract/error-class.ts";
export { errorClassOf, exitCodeOf, type StopSignal } from "../contract/exit-code.ts";
export type {
  BootDevice,
  BootMode,
  BootModeChoice,
  PowerState,
  ProviderName,
  SessionProvider,
} from "../contract/vocabulary.ts";
export type { Log, LogFields, Logger } from "../logger.ts";
export { Secret } from "../secret.ts";
export { BmcClient, type BmcClientOptions, type Offer } from "./client.ts";
export { Connection, type ConnectionInput } from "./library-connection.ts";
export type { LastWrite, Plan, SessionPrivilege } from "./operations/access.ts";
export type {
  BiosApplyTime,
  BiosReport,
  BiosRequest,
  BiosResetReport,
  BiosState,
} from "./operations/bios.ts";
export type { BiosAttributes, BiosValue } from "./operations/bios-registry.ts";
export type { BootReport } from "./operations/boot.ts";
export type { BootOverride, BootRequest, BootStage, BootTarget } from "./operations/boot-port.ts";
export type { BootWaitReport } from "./operations/boot-wait.ts";
export type { BootOption, BootOrderReport } from "./operations/bootorder.ts";
export type { CertificateSummary } from "./operations/certificate-chain.ts";
export type { ConsoleReport, ConsoleRequest, LinePattern } from "./operations/console.ts";
export type {
  DriveList,
  ErasableDrive,
  EraseMethod,
  EraseReport,
  EraseRequest,
} from "./operations/erase.ts";
export type { CheckState, Finding } from "./operations/finding.ts";
export type {
  FirmwareApplyTime,
  FirmwareImage,
  FirmwareItem,
  FirmwareRequest,
} from "./operations/firmware-driver.ts";
export type { HttpBootReport, HttpBootWay } from "./operations/httpboot.ts";
export type { CertificateRequest } from "./operations/https.ts";
export type { MediaType } from "./operations/image-address.ts";
export type { IndicatorReport, IndicatorState } from "./operations/indicator.ts";
export type { CertificateReport, CertificateStage } from "./operations/install-certificate.ts";
export type { Hardware, HardwareComponent, HardwareList } from "./operations/inventory.ts";
export type { BmcInfo, BmcResetKind, ManagerResetReport } from "./operations/manager.ts";
export type {
  ImageCredentials,
  ListedMediaDrive,
  MediaDrive,
  MediaList,
  MediaOptions,
  MediaReport,
  MediaState,
} from "./operations/media.ts";
export type { HttpBootRequest, PxeSwitch } from "./operations/network-boot-attributes.ts";
export type { NetworkReport, NetworkStage } from "./operations/network-change.ts";
export type { NetworkRequest, NetworkSettings } from "./operations/network-settings.ts";
export type { NicPxeReport } from "./operations/nic-pxe.ts";
export type { NmiReport } from "./operations/nmi.ts";
export type { NtpReport, NtpRequest, NtpSettings } from "./operations/ntp.ts";
export type { OffMode, PowerReading, PowerReport, PowerRequest } from "./operations/power.ts";
export type { LastReset, PowerEvent, PowerEventKind } from "./operations/power-events.ts";
export type { BmcClock, PowerHistory, PowerHistoryOptions } from "./operations/powerhistory.ts";
export type { PowerLimit, PowerLimitReport } from "./operations/powerlimit.ts";
export type { SessionDescription } from "./operations/provider.ts";
export type {
  RaidApplyTime,
  RaidClearRequest,
  RaidLimits,
  RaidReport,
  RaidRequest,
} from "./operations/raid.ts";
export type { RaidLevel, RaidVolume, WantedVolume } from "./operations/raid-plan.ts";
export type { RestorePolicy, RestoreReport } from "./operations/restore.ts";
export type { Screenshot } from "./operations/screenshot.ts";
export type {
  NewSecureBootKey,
  SecureBootDatabase,
  SecureBootKey,
} from "./operations/secure-boot-key.ts";
export type {
  SecureBootKeys,
  SecureBootMode,
  SecureBootReport,
  SecureBootState,
} from "./operations/secureboot.ts";
export type {
  SecureBootKeyList,
  SecureBootKeyOptions,
  SecureBootKeysReport,
} from "./operations/securebootkeys.ts";
export type { SelEntry, SelOptions, SelReport } from "./operations/sel.ts";
export type {
  SensorHealth,
  SensorKind,
  SensorReading,
  SensorState,
  SensorThresholds,
} from "./operations/sensors.ts";
export type { SigningRequestNames } from "./operations/signing-request.ts";
export type { SolReport } from "./operations/sol.ts";
export type { Capability, DriverName, OfferedCapability } from "./operations/table.ts";
export type { Unread } from "./operations/unread.ts";
export type { FirmwareReport, UpdateLimits, UpdateStage } from "./operations/update-firmware.ts";
export type { BmcUser, UserReport, UserRequest, UserRole } from "./operations/user-port.ts";
