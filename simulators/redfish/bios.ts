import { z } from "zod";
import { BIOS_DEFAULTS, type SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, ok, refusal } from "./answer.ts";
import { BIOS_REGISTRY } from "./bios-registry.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const Patch = z.strictObject({
  Attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  "@Redfish.SettingsApplyTime": z.strictObject({ ApplyTime: z.string() }).optional(),
});
const NewJob = z.strictObject({ TargetSettingsURI: z.string() });

/** The Bios resource of a System, its settings, and the manager's jobs if settings are applied only by a job. */
export class SimulatedBios implements ResourceService {
  readonly #path: string;
  readonly #jobs: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(systemPath: string, managerPath: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#path = `${systemPath}/Bios`;
    this.#jobs = `${managerPath}/Jobs`;
    this.#machine = machine;
    this.#profile = profile;
    machine.bios.attributes = { ...machine.bios.attributes, ...profile.bios.attributes };
  }

  answer(request: ResourceRequest): Answer | undefined {
    const { method, path, body } = request;
    const { offered, settings, jobs = false } = this.#profile.bios;
    if (jobs && (path === this.#jobs || path.startsWith(`${this.#jobs}/`))) return this.#job(request);
    if (!offered) return undefined;
    if (path === `${this.#path}/Actions/Bios.ResetBios`) {
      return method === "POST" ? this.#reset() : methodNotAllowed(method);
    }
    if (path === this.#path)
      return this.#resource(request, this.#bios(settings), settings ? undefined : body);
    if (!settings || path !== `${this.#path}/Settings`) return undefined;
    const pending = { Name: "BIOS settings", Attributes: this.#machine.bios.pending };
    return this.#resource(request, resource(path, "Bios", pending), body);
  }

  #bios(hasSettings: boolean) {
    const { registry, applyTimes } = this.#profile.bios;
    return resource(this.#path, "Bios", {
      Name: "BIOS",
      ...(registry && { AttributeRegistry: BIOS_REGISTRY }),
      Attributes: this.#machine.bios.attributes,
      Actions: { "#Bios.ResetBios": { target: `${this.#path}/Actions/Bios.ResetBios` } },
      ...(hasSettings
        ? {
            "@Redfish.Settings": {
              "@odata.type": "#Settings.v1_3_0.Settings",
              SettingsObject: { "@odata.id": `${this.#path}/Settings` },
              ...(applyTimes.length > 0 && { SupportedApplyTimes: applyTimes }),
              Messages: [{ MessageId: "Base.1.8.Success" }],
            },
          }
        : {}),
    });
  }

  /** Answers for one of the resources. `body` is undefined if the resource takes no PATCH. */
  #resource({ method, ifMatch }: ResourceRequest, current: Record<string, unknown>, body: unknown): Answer {
    if (method === "GET") return withTag(current, this.#profile);
    if (method !== "PATCH" || body === undefined) return methodNotAllowed(method);
    return checkIfMatch(ifMatch, current, this.#profile) ?? this.#patch(body);
  }

  #patch(body: unknown): Answer {
    const parsed = Patch.safeParse(body);
    const { settings, applyTimes, jobs = false } = this.#profile.bios;
    const time = parsed.data?.["@Redfish.SettingsApplyTime"]?.ApplyTime;
    if (!parsed.success || (time !== undefined && !applyTimes.includes(time))) {
      return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    }
    const { bios } = this.#machine;
    const { Attributes: values } = parsed.data;
    if (!settings || time === "Immediate") {
      bios.attributes = { ...bios.attributes, ...values };
      return noContent;
    }
    bios.pending = { ...bios.pending, ...values };
    // If apply times are offered, a request without one is stored but never applied.
    bios.scheduled ||= !jobs && (applyTimes.length === 0 || time === "OnReset");
    return noContent;
  }

  #reset(): Answer {
    this.#machine.bios.pending = BIOS_DEFAULTS;
    this.#machine.bios.scheduled = true;
    return noContent;
  }

  #job({ method, path, body }: ResourceRequest): Answer {
    const { bios } = this.#machine;
    const [id, fields] = ["JID_1", { JobType: "BIOSConfiguration", JobState: "Scheduled" }] as const;
    if (path !== this.#jobs) return ok(resource(path, "Job", { Name: "BIOS job", ...fields }));
    if (method === "GET") {
      return ok(collection(path, "Job", bios.scheduled ? [`${this.#jobs}/${id}`] : []));
    }
    const isValid = NewJob.safeParse(body).data?.TargetSettingsURI === `${this.#path}/Settings`;
    if (method !== "POST" || !isValid || bios.scheduled) {
      return refusal(400, "IDRAC.2.8.SYS426", "Unable to create the job.");
    }
    bios.scheduled = true;
    return { status: 200, headers: { Location: `${this.#jobs}/${id}` } };
  }
}
