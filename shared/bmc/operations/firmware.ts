import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok, warning } from "./finding.ts";
import {
  type FirmwareDriver,
  type FirmwareDrivers,
  type FirmwareItem,
  type FirmwareRequest,
  unreadFirmwareOf,
} from "./firmware-driver.ts";
import { throwIfNoneRead } from "./unread.ts";
import {
  type FirmwareReport,
  planUpdate,
  type UpdateLimits,
  type UpdateStage,
  updateFirmware,
} from "./update-firmware.ts";

export const firmwareOperations = defineOperations({
  title: "firmware inventory and update",
  methods: (run: Run<FirmwareDrivers>) => ({
    /** Lists the firmware inventory. */
    listFirmware: (signal: AbortSignal = neverAborted()): Promise<readonly FirmwareItem[]> =>
      run(signal, ({ read }) => read(({ firmware }) => listRead(firmware, signal))),

    /**
     * Sends an update once, follows its task, even across a restart of the BMC, and reads the inventory until it shows the
     * new version. `onStage` is called when the update was sent, and when its task has ended.
     */
    updateFirmware: (
      request: FirmwareRequest,
      limits: UpdateLimits,
      signal: AbortSignal = neverAborted(),
      onStage: (stage: UpdateStage) => void = () => undefined,
    ): Promise<FirmwareReport> =>
      run(signal, (access: Access<FirmwareDrivers>) =>
        updateFirmware(access, { request, limits, onStage }, signal),
      ),

    /** Returns what `updateFirmware` would send. `before` has the targets or the whole inventory. */
    planFirmwareUpdate: (
      request: FirmwareRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly FirmwareItem[]>> =>
      run(signal, (access: Access<FirmwareDrivers>) => planUpdate(access, request, signal)),
  }),
  check: async ({ read }, signal) => {
    const items = await read(({ firmware }) => listRead(firmware, signal));
    const known = items.filter(({ unread }) => unread === undefined);
    const gaps = items.length === known.length ? "" : `, ${items.length - known.length} not read`;
    const counted = count(known.length, "firmware entry", "firmware entries") + gaps;
    return items.length > 0 ? ok(counted) : warning("unsupported", counted);
  },
});

async function listRead(firmware: FirmwareDriver, signal: AbortSignal): Promise<readonly FirmwareItem[]> {
  const items = await firmware.list(signal);
  const unread = unreadFirmwareOf(items);
  throwIfNoneRead(items.length - unread.length, unread, "firmware entry");
  return items;
}
