import { Code, ConnectError } from "@connectrpc/connect";
import { Secret } from "../../../../shared/secret.ts";
import type { ActionSecrets } from "../../../core/action/action.ts";
import {
  type CreateUserRequest,
  type DeleteUserRequest,
  ResetKind,
  type ResetRequest,
  type UpdateUserRequest,
  type UserCreds,
  UserRole,
} from "../api/gen/bmc_pb.ts";
import { BootDevice, type DeviceRequest, PowerAction, type PowerRequest } from "../api/gen/machine_pb.ts";
import { invalid, required } from "./authn.ts";

/** A request as an action of this project. */
export interface Work {
  /** The `description` of PBnJ's `Task.Status`. */
  readonly description: string;
  /** The action's name. */
  readonly action: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The result of a success: a text, or the power state that the action read. */
  readonly result: string | "power-state";
  readonly inputs?: NonNullable<ActionSecrets["inputs"]>;
  /** Set for a read, whose answer is not kept: a repeated request runs it again. */
  readonly repeats?: true;
}

/** Time in addition to the times of the request. */
const TIMEOUT_MS = 600_000;
/** The action must end this long before the timeout, so that it can report what it waited for. */
const MARGIN_MS = 30_000;
const LONGEST_SECONDS = 3_600;

export function powerWork({ powerAction, softTimeout, offDuration }: PowerRequest): Work {
  const soft = seconds("soft_timeout", softTimeout);
  const off = seconds("off_duration", offDuration);
  const name = enumName("power_action", PowerAction, powerAction);
  const terms = { action: POWER_ACTIONS[name], addedMs: (soft + off) * 1_000 };
  const description = `power action: POWER_ACTION_${name}`;
  switch (name) {
    case "STATUS":
      return work(description, { ...terms, result: "power-state" });
    case "OFF": {
      // Without time for it there is no graceful shutdown, like in PBnJ.
      const environment = soft > 0 ? { MODE: "soft-then-hard", SOFT_TIMEOUT: `${soft}s` } : { MODE: "hard" };
      return work(description, { ...terms, environment, result: powerResult(name) });
    }
    case "HARDOFF":
      return work(description, { ...terms, environment: { MODE: "hard" }, result: powerResult(name) });
    case "CYCLE":
      return work(description, {
        ...terms,
        environment: { OFF_DURATION: `${off}s` },
        result: powerResult(name),
      });
    default:
      return work(description, { ...terms, result: powerResult(name) });
  }
}

const POWER_ACTIONS = {
  ON: "power-on",
  OFF: "power-off",
  HARDOFF: "power-off",
  CYCLE: "power-cycle",
  RESET: "power-reset",
  STATUS: "power-status",
} as const;

const powerResult = (name: string) => `power POWER_ACTION_${name} complete`;

export function bootDeviceWork({ bootDevice, persistent, efiBoot }: DeviceRequest): Work {
  const device = enumName("boot_device", BootDevice, bootDevice).toLowerCase();
  // Clients also send false if they do not mention the boot mode, so false keeps the mode.
  const environment = {
    DEVICE: device,
    PERSISTENT: String(persistent),
    ...(efiBoot && { EFI_BOOT: "true" }),
  };
  return work("setting boot device", { action: "set-boot-device", environment });
}

export function resetWork({ resetKind }: ResetRequest): Work {
  const environment = { KIND: enumName("reset_kind", ResetKind, resetKind).toLowerCase() };
  return work("bmc reset", { action: "bmc-reset", environment });
}

export function createUserWork({ userCreds }: CreateUserRequest): Work {
  const { role, ...terms } = userTerms(userCreds);
  if (role === undefined) throw unspecified("user_creds.user_role");
  const environment = { ...terms.environment, ROLE: role };
  return work("creating user", { action: "create-user", ...terms, environment });
}

/** Creates an update of a user. Without a role, the user keeps its role. */
export function updateUserWork({ userCreds }: UpdateUserRequest): Work {
  const { role, ...terms } = userTerms(userCreds);
  const environment = { ...terms.environment, ...(role !== undefined && { ROLE: role }) };
  return work("updating user", { action: "update-user", ...terms, environment });
}

export function deleteUserWork({ username }: DeleteUserRequest): Work {
  const environment = { USER_NAME: required("username", username) };
  return work("deleting user", { action: "delete-user", environment });
}

export const deactivateSolWork = (): Work => work("deactivating SOL session", { action: "deactivate-sol" });
export const clearSelWork = (): Work => work("clearing system event log", { action: "clear-sel" });
export const nmiWork = (): Work => work("sending NMI", { action: "send-nmi" });
export const screenshotWork = (): Work =>
  work("taking screenshot", {
    action: "screenshot",
    environment: { SCREENSHOT_INLINE: "true" },
    repeats: true,
  });

/** The roles that PBnJ uses in Redfish. */
const ROLES = { ADMIN: "administrator", USER: "operator" } as const;

function userTerms(creds: UserCreds | undefined) {
  const { username, password, userRole = UserRole.UNSPECIFIED } = creds ?? {};
  const environment = { USER_NAME: required("user_creds.username", username) };
  const inputs = { PASSWORD: new Secret(required("user_creds.password", password)) };
  const name = userRole === UserRole.UNSPECIFIED ? undefined : enumName("user_role", UserRole, userRole);
  return { environment, inputs, role: name && ROLES[name] };
}

interface WorkTerms extends Partial<Pick<Work, "environment" | "inputs" | "repeats" | "result">> {
  readonly action: string;
  readonly addedMs?: number;
}

function work(
  description: string,
  { addedMs = 0, environment = {}, result = "", ...terms }: WorkTerms,
): Work {
  const timeoutMs = TIMEOUT_MS + addedMs;
  const own = { TIMEOUT: `${(timeoutMs - MARGIN_MS) / 1_000}s` };
  return { description, environment: { ...environment, ...own }, timeoutMs, result, ...terms };
}

type Named<Enum> = Exclude<keyof Enum & string, "UNSPECIFIED">;

/** The name of an enum's value, without the enum's prefix. */
function enumName<const Enum extends Readonly<Record<string, unknown>>>(
  field: string,
  values: Enum,
  value: unknown,
): Named<Enum> {
  const [name] = Object.entries(values).find(([, known]) => known === value) ?? [];
  if (name === "UNSPECIFIED") throw unspecified(field);
  if (name === undefined) throw invalid(`${field} is ${String(value)}, which is not a value of the enum`);
  return name as Named<Enum>;
}

function unspecified(field: string): ConnectError {
  return new ConnectError(`${field} is UNSPECIFIED`, Code.InvalidArgument);
}

function seconds(field: string, value: number): number {
  if (value < 0) throw invalid(`${field} must not be negative`);
  if (value > LONGEST_SECONDS) throw invalid(`${field} is longer than ${LONGEST_SECONDS} seconds`);
  return value;
}
