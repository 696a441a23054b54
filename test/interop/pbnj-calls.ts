import type { JsonObject } from "@bufbuild/protobuf";

/** A call of one of PBnJ's methods, and its answer. */
export interface PbnjCall {
  /** Service and method. */
  readonly method: string;
  /** Beside `authn`. */
  readonly request: JsonObject;
  /** The expected status of the task; absent for methods that answer at once. */
  readonly task?: { readonly description: string; readonly result: string };
  /** The gRPC code that the call answers with, as grpcurl writes it. */
  readonly code?: string;
}

const userCreds = { username: "alice", password: "Passw0rd!x", userRole: "USER_ROLE_ADMIN" };
const task = (description: string, result = "") => ({ description, result });
const power = (action: string, result = `power POWER_ACTION_${action} complete`): PbnjCall => ({
  method: "Machine/Power",
  request: { powerAction: `POWER_ACTION_${action}` },
  task: task(`power action: POWER_ACTION_${action}`, result),
});
const boot = (device: string): PbnjCall => ({
  method: "Machine/BootDevice",
  request: { bootDevice: `BOOT_DEVICE_${device}` },
  task: task("setting boot device"),
});

/** Every method but `Task/Status`, with every value, for a machine that is on; in this order. */
export const PBNJ_CALLS: readonly PbnjCall[] = [
  power("STATUS", "on"),
  ...["OFF", "ON", "CYCLE", "RESET", "HARDOFF"].map((action) => power(action)),
  power("STATUS", "off"),
  power("CYCLE"),
  ...["NONE", "BIOS", "CDROM", "DISK", "PXE"].map(boot),
  { method: "BMC/CreateUser", request: { userCreds }, task: task("creating user") },
  { method: "BMC/UpdateUser", request: { userCreds }, task: task("updating user") },
  { method: "BMC/DeleteUser", request: { username: "alice" }, task: task("deleting user") },
  { method: "BMC/DeactivateSOL", request: {}, task: task("deactivating SOL session") },
  { method: "Diagnostic/Screenshot", request: {} },
  { method: "Diagnostic/ClearSystemEventLog", request: {}, task: task("clearing system event log") },
  { method: "Diagnostic/SendNMI", request: {} },
  { method: "BMC/NetworkSource", request: { networkSource: "NETWORK_SOURCE_DHCP" }, code: "Unimplemented" },
  { method: "BMC/Reset", request: { resetKind: "RESET_KIND_WARM" }, task: task("bmc reset") },
  { method: "BMC/Reset", request: { resetKind: "RESET_KIND_COLD" }, task: task("bmc reset") },
];
