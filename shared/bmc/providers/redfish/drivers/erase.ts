import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import {
  type DriveList,
  describeDrive,
  type ErasableDrive,
  type EraseDriver,
  type EraseMethod,
} from "../../../operations/erase.ts";
import { type Identity, identityIn, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import type { Unread } from "../../../operations/unread.ts";
import { ListedAction } from "../resources/action-parameters.ts";
import type { Resources } from "../resources/resources.ts";
import { unreadable } from "../resources/unreadable.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { lastPart, pathKey } from "../service/paths.ts";
import { ActionInfo, identifying, Links, lenient } from "../service/schema.ts";
import { text } from "./inventory-parts.ts";

const ERASE = "#Drive.SecureErase";
const Text = lenient(z.string());

const Storage = z.object({ Drives: identifying(z.catch(Links, [])) });

/** The used fields of Drive (DSP0268). */
const Drive = z.object({
  Id: Text,
  SerialNumber: Text,
  Model: Text,
  CapacityBytes: lenient(z.number().check(z.nonnegative())),
  Actions: lenient(z.object({ "#Drive.SecureErase": lenient(ListedAction) })),
});

const METHODS: Readonly<Record<EraseMethod, string>> = {
  "block-erase": "BlockErase",
  "crypto-erase": "CryptographicErase",
  overwrite: "Overwrite",
};

const MOST_STORAGES = 64;
const MOST_DRIVES = 512;
const MOST_REQUESTS = 700;

/** Erases with `Drive.SecureErase` of the drives in the system's storage subsystems. */
export function redfishErase({ system, members, writer }: Resources): EraseDriver {
  const { service } = system;

  const request = async (
    drive: ErasableDrive,
    method: EraseMethod | undefined,
    signal: AbortSignal,
  ): Promise<WriteRequest> => {
    const { path, id } = drive;
    const { value } = await service.get(path, Drive, signal);
    const action = value.Actions?.[ERASE];
    const target = service.actionPath(path, ERASE, action);
    if (!action || target === undefined) {
      throw new BmcError("unsupported", `the BMC does not offer to erase ${id}`);
    }
    const type = method && METHODS[method];
    const taken = type === undefined ? undefined : await methodsOf(action, signal);
    if (type !== undefined && taken && !taken.includes(type)) {
      throw new BmcError("unsupported", `the BMC erases ${id} only by ${taken.join(", ")}, not by ${type}`);
    }
    const body = defined({ SanitizationType: type });
    const targets = [{ what: describeDrive(drive), path, identity: identityOf(drive) }];
    return { method: "POST", path: target, body, background: true, targets, rechecks: true };
  };
  /** Finds a drive at its present place. */
  const findAgain = async (drive: ErasableDrive, signal: AbortSignal): Promise<ErasableDrive> => {
    const { drives } = await list(signal);
    const same = drives.filter(({ serialNumber }) => serialNumber === drive.serialNumber);
    const [found, ...others] = drive.serialNumber === undefined ? [] : same;
    if (!found || others.length > 0) {
      throw new TargetMoved(describeDrive(drive), drive.path, "another drive or none");
    }
    return { ...drive, path: found.path };
  };
  const methodsOf = async ({ values, info }: ListedAction, signal: AbortSignal) => {
    const path = service.localPath(info);
    const found = path === undefined ? undefined : await service.find(path, ActionInfo, signal);
    const listed = found?.value.Parameters.find(({ Name }) => Name === "SanitizationType");
    return values.get("SanitizationType") ?? listed?.AllowableValues;
  };

  const list = async (signal: AbortSignal): Promise<DriveList> => {
    await system.refresh(signal);
    const path = service.localPath(system.last.value.Storage?.["@odata.id"]);
    const unread: Unread[] = [];
    const requests = { left: MOST_REQUESTS };
    const tell = (gap: Unread) => void unread.push(gap);
    const limits = { members: MOST_STORAGES, requests, unread: tell };
    const storages = path === undefined ? undefined : await members.read(path, Storage, signal, limits);
    const links = (storages ?? []).flatMap(({ value }) => value.Drives);
    const paths = new Map(
      links.flatMap((link) => {
        const drive = service.localPath(link["@odata.id"]);
        return drive === undefined ? [] : [[pathKey(drive), drive] as const];
      }),
    );
    if (paths.size === 0 && unread.length === 0) {
      throw new BmcError("unsupported", "the BMC reports no drives");
    }
    const drives: ErasableDrive[] = [];
    for (const drive of paths.values()) {
      if (drives.length >= MOST_DRIVES || requests.left-- <= 0) {
        tell({ name: drive, reason: "the machine has too many drives" });
        break;
      }
      try {
        // A drive that was just removed does not count.
        const found = await service.findLinked(drive, Drive, signal);
        if (found) drives.push(driveOf(drive, found.value));
      } catch (thrown) {
        tell({ name: drive, reason: unreadable(thrown).message });
      }
    }
    return { drives, ...(unread.length > 0 ? { unread } : {}) };
  };

  return {
    list,
    plan: async (drive, method, signal) => describeWrite(await request(drive, method, signal)),
    async send(drive, method, signal) {
      await sendToTarget(async (again) => {
        const at = again ? await findAgain(drive, signal) : drive;
        await writer.write(await request(at, method, signal), signal);
      });
    },
  };
}

/** The identity of a drive; without a serial number, from its other properties. */
function identityOf({ id, serialNumber }: ErasableDrive): Identity {
  return identityIn(serialNumber === undefined ? { Id: id } : { SerialNumber: serialNumber });
}

function driveOf(path: string, value: z.infer<typeof Drive>): ErasableDrive {
  const { Id, SerialNumber, Model, CapacityBytes: bytes, Actions } = value;
  return {
    id: text(Id) ?? lastPart(path),
    path,
    offered: Actions?.[ERASE] !== undefined,
    ...defined({ serialNumber: text(SerialNumber), model: text(Model), bytes }),
  };
}
