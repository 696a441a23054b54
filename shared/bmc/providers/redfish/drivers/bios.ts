import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { BiosApplyTime, BiosDriver, BiosOutcome } from "../../../operations/bios.ts";
import { attributeValue, type BiosAttributes, type BiosValue } from "../../../operations/bios-registry.ts";
import type { Unread } from "../../../operations/unread.ts";
import { ListedAction, listedParameters, writeAction } from "../resources/action-parameters.ts";
import type { Resources } from "../resources/resources.ts";
import { settingsPathOf } from "../resources/settings-place.ts";
import { stateOfWord } from "../resources/task-state.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { readProblem } from "../service/refusal.ts";
import { Link, lenient, Messages, Values } from "../service/schema.ts";
import { findBiosRegistry } from "./bios-registry.ts";

const Value = z.union([z.string(), z.number(), z.boolean()]);
/** Cray describes each attribute with an object. */
const Described = z.pipe(
  z.object({ current_value: Value }),
  z.transform(({ current_value: value }) => value),
);

/** Values by name. Null, which means a password, and invalid values are left out. */
const Attributes = z.pipe(
  z.record(z.string(), z.catch(z.nullable(z.union([Value, Described])), null)),
  z.transform((given: Record<string, BiosValue | null>): BiosAttributes => {
    const isValue = (entry: [string, BiosValue | null]): entry is [string, BiosValue] => entry[1] !== null;
    return Object.fromEntries(Object.entries(given).filter(isValue));
  }),
);

/** The used fields of Bios (DSP0268). */
const Bios = z.object({
  Attributes: lenient(Attributes),
  AttributeRegistry: lenient(z.string()),
  "@Redfish.Settings": lenient(
    z.object({
      SettingsObject: lenient(Link),
      SupportedApplyTimes: lenient(Values),
      Time: lenient(z.string()),
      Messages,
    }),
  ),
  Actions: lenient(z.object({ "#Bios.ResetBios": lenient(ListedAction) })),
});

/** Parameters that MegaRAC and Cray require. */
const RESETTING = { ResetType: "Reset", ResetBiosType: "Reset" };

/** The resource that `@Redfish.Settings` of Bios refers to (DSP0266 section 9.10). */
const Pending = z.object({ Attributes: lenient(Attributes) });

const Job = z.object({ JobType: lenient(z.string()), JobState: lenient(z.string()) });
const BIOS_JOB = "BIOSConfiguration";
const MOST_JOBS = 1_000;
const MOST_JOB_REQUESTS = 50;

const APPLY_TIMES: Readonly<Record<BiosApplyTime, string>> = {
  "on-reset": "OnReset",
  immediate: "Immediate",
};

/** The system's Bios resource, its settings object, and iDRAC's jobs if these apply the settings. */
export function redfishBios({ system, manager, members, writer }: Resources): BiosDriver {
  const { service } = system;

  const find = async (signal: AbortSignal) => {
    await system.refresh(signal);
    const path = service.localPath(system.last.value.Bios?.["@odata.id"]);
    const found = path === undefined ? undefined : await service.find(path, Bios, signal);
    if (!found?.value.Attributes) throw new BmcError("unsupported", "the BMC offers no BIOS attributes");
    const attributes = found.value.Attributes;
    const { "@Redfish.Settings": link } = found.value;
    const settingsPath = settingsPathOf(service, found);
    const settings =
      settingsPath === undefined ? undefined : await service.find(settingsPath, Pending, signal);
    const pending = Object.fromEntries(
      Object.entries(settings?.value.Attributes ?? {}).filter(
        ([name, value]) => attributeValue(attributes, name) !== value,
      ),
    );
    const times = link?.SupportedApplyTimes;
    const needsJob = settings !== undefined && !times && system.behaviour.biosChanges === "job";
    return { ...found, attributes, pending, settings, times, needsJob };
  };

  const jobsPath = async (signal: AbortSignal) => `${(await manager.read(signal)).path}/Jobs`;

  /** Whether a BIOS job is in one of these states. */
  const someJob = async (states: readonly string[], signal: AbortSignal): Promise<boolean> => {
    const gaps: Unread[] = [];
    const unread = (gap: Unread) => gaps.push(gap);
    const limits = { members: MOST_JOBS, requests: { left: MOST_JOB_REQUESTS }, unread };
    const jobs = (await members.read(await jobsPath(signal), Job, signal, limits)) ?? [];
    const found = jobs.some(({ value: { JobType, JobState = "" } }) => {
      return JobType === BIOS_JOB && states.includes(stateOfWord(JobState) ?? "");
    });
    if (!found) throwUnread(gaps, "whether a BIOS job waits or runs");
    return found;
  };

  const requests = async (
    values: BiosAttributes,
    time: BiosApplyTime,
    signal: AbortSignal,
  ): Promise<readonly WriteRequest[]> => {
    const { path, etag, pending, settings, times, needsJob } = await find(signal);
    const asked = APPLY_TIMES[time];
    const isOffered = times?.includes(asked) ?? false;
    // Without a settings object, the BMC applies everything immediately.
    if (time === "immediate" && settings && !isOffered) {
      const offered = times ? `it offers ${times.join(", ")}` : "only at the next boot";
      throw new BmcError("unsupported", `the BMC does not apply BIOS attributes at once; ${offered}`);
    }
    const patch: WriteRequest = {
      method: "PATCH",
      path: settings?.path ?? path,
      body: {
        ...(isOffered ? { "@Redfish.SettingsApplyTime": { ApplyTime: asked } } : {}),
        Attributes: values,
      },
      etag: settings ? settings.etag : etag,
      background: time === "on-reset",
    };
    if (!needsJob || !settings) return [patch];
    const body = { TargetSettingsURI: settings.path };
    const job: WriteRequest = { method: "POST", path: await jobsPath(signal), body, background: true };
    const isPending = Object.entries(values).every(
      ([name, value]) => attributeValue(pending, name) === value,
    );
    return isPending ? [job] : [patch, job];
  };

  const resetRequest = async (signal: AbortSignal) => {
    const found = await find(signal);
    const action = found.value.Actions?.["#Bios.ResetBios"];
    const path = service.actionPath(found.path, "#Bios.ResetBios", action);
    if (!action || path === undefined)
      throw new BmcError("unsupported", "the BMC does not offer to reset the BIOS");
    const body = await listedParameters(service, action, RESETTING, signal);
    return { method: "POST", path, body, background: true } as const;
  };

  return {
    async read(signal) {
      const { attributes, pending, needsJob, value } = await find(signal);
      const isWaiting = needsJob && Object.keys(pending).length > 0;
      const scheduled = isWaiting ? await someJob(["running", "staged"], signal) : undefined;
      const outcome = outcomeOf(value["@Redfish.Settings"]);
      return { attributes, pending, ...defined({ registry: value.AttributeRegistry, scheduled, outcome }) };
    },
    async isApplying(signal) {
      if (system.behaviour.biosChanges !== "job") return false;
      return await someJob(["running"], signal);
    },
    registry: (name, signal) => findBiosRegistry({ service, members }, name, signal),
    plan: async (values, time, signal) => (await requests(values, time, signal)).map(describeWrite),
    async write(values, time, signal) {
      for (const request of await requests(values, time, signal)) await writer.write(request, signal);
    },
    planReset: async (signal) => describeWrite(await resetRequest(signal)),
    async reset(signal) {
      await writeAction({ writer, service }, await resetRequest(signal), RESETTING, signal);
    },
  };
}

/** The BIOS's messages about the settings that it accepted or rejected last (DSP0266 section 9.10). */
function outcomeOf(settings: z.infer<typeof Bios>["@Redfish.Settings"]): BiosOutcome | undefined {
  if (!settings) return undefined;
  const { Time: time, Messages: messages } = settings;
  return defined({ time, problem: readProblem(messages) || undefined });
}
