import { z } from "zod";
import { type Answer, methodNotAllowed, notFound, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";
import { TASK_MONITORS } from "./tasks.ts";

export const UPDATE_SERVICE = "/redfish/v1/UpdateService";
const FIRMWARE = `${UPDATE_SERVICE}/FirmwareInventory`;
const SIMPLE = `${UPDATE_SERVICE}/Actions/UpdateService.SimpleUpdate`;
const MULTIPART = `${UPDATE_SERVICE}/upload`;
const PUSH = `${UPDATE_SERVICE}/push`;
const MONITOR = `${TASK_MONITORS}/update-`;

const Parameters = z.object({
  Targets: z.array(z.string()).optional(),
  "@Redfish.OperationApplyTime": z.enum(["Immediate", "OnReset"]).optional(),
});
const Simple = Parameters.extend({ ImageURI: z.string(), TransferProtocol: z.string().optional() }).strict();

interface SimulatedFirmware {
  readonly name: string;
  version: string;
  state?: "Enabled" | "StandbySpare";
  readonly updateable: boolean;
  readonly related: string;
}

interface Update {
  readonly targets: readonly string[];
  readonly version: string;
  readonly onReset: boolean;
  readonly endsAt: number;
}

/**
 * Firmware and its updates. An image installs the version in its name, as in `bmc-1.3.0.bin`, or else in its first line, as
 * in `version 1.3.0`, on its targets or on the BMC.
 */
export class SimulatedUpdateService implements ResourceService {
  readonly firmware: Map<string, SimulatedFirmware>;
  /** The ways of updating that are offered. */
  readonly ways = new Set<"simple" | "multipart" | "push">(["simple", "multipart", "push"]);
  taskMs = 300;
  /** The message with which updates fail; undefined if they succeed. */
  failure: string | undefined;
  /** The version that is installed, whatever the image's version. */
  installs: string | undefined;
  /**
   * If set, images have the ID of their version: the new image is another member, and the old one is kept or is in use until
   * a reset.
   */
  byHash: "standby" | "on-reset" | undefined;
  /** How long the BMC is unavailable after the task, which it then has forgotten. */
  restartMs: number | undefined;
  onRestart: (ms: number) => void = () => undefined;
  readonly #updates: Update[] = [];
  #forgotten = 0;

  constructor(manager: string, system: string, profile: RedfishProfile) {
    const bios = { name: "BIOS", related: system };
    this.firmware = new Map([
      ["BMC", { name: "BMC firmware", version: profile.firmware, updateable: true, related: manager }],
      ["BIOS", { ...bios, version: "2.19.1", updateable: true }],
      ["Previous-159-2.18.0", { ...bios, version: "2.18.0", updateable: false }],
    ]);
  }

  /** The number of updates accepted so far. */
  get accepted(): number {
    return this.#updates.length;
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    if (path.startsWith(MONITOR)) return this.#monitor(path);
    if (path === SIMPLE && this.ways.has("simple"))
      return method === "POST" ? this.#simple(body) : methodNotAllowed(method);
    if (path === MULTIPART && this.ways.has("multipart")) return this.#multipart(String(body));
    if (path === PUSH && this.ways.has("push")) return this.#start(versionIn(String(body)), {});
    const found = this.#resource(path);
    if (found) return method === "GET" ? ok(found) : methodNotAllowed(method);
    return path.startsWith(UPDATE_SERVICE) ? notFound(path) : undefined;
  }

  #resource(path: string): Record<string, unknown> | undefined {
    if (path === UPDATE_SERVICE) return this.#service();
    const ids = [...this.firmware.keys()];
    if (path === FIRMWARE)
      return collection(
        FIRMWARE,
        "SoftwareInventory",
        ids.map((id) => `${FIRMWARE}/${id}`),
      );
    const id = path.slice(FIRMWARE.length + 1);
    const item = path.startsWith(`${FIRMWARE}/`) ? this.firmware.get(id) : undefined;
    if (!item) return undefined;
    const { name, version, state, updateable, related } = item;
    const RelatedItem = [{ "@odata.id": related }];
    return resource(path, "SoftwareInventory", {
      Id: id,
      Name: name,
      Version: version,
      ...(state && { Status: { State: state } }),
      Updateable: updateable,
      RelatedItem,
    });
  }

  #service() {
    const applyTimes = { SupportedValues: ["Immediate", "OnReset"] };
    const simple = {
      target: SIMPLE,
      "TransferProtocol@Redfish.AllowableValues": ["HTTP", "HTTPS"],
      "@Redfish.OperationApplyTimeSupport": applyTimes,
    };
    return resource(UPDATE_SERVICE, "UpdateService", {
      Name: "Update Service",
      ServiceEnabled: true,
      MaxImageSizeBytes: 64 * 1024 * 1024,
      FirmwareInventory: { "@odata.id": FIRMWARE },
      ...(this.ways.has("multipart")
        ? {
            MultipartHttpPushUri: MULTIPART,
            "MultipartHttpPushUri@Redfish.OperationApplyTimeSupport": applyTimes,
          }
        : {}),
      ...(this.ways.has("push") ? { HttpPushUri: PUSH } : {}),
      ...(this.byHash === "on-reset"
        ? { HttpPushUriOptions: { HttpPushUriApplyTime: { ApplyTime: "OnReset" } } }
        : {}),
      Actions: this.ways.has("simple") ? { "#UpdateService.SimpleUpdate": simple } : {},
    });
  }

  #simple(body: unknown): Answer {
    const parsed = Simple.safeParse(body);
    return parsed.success
      ? this.#start(versionIn(parsed.data.ImageURI), parsed.data)
      : invalid("SimpleUpdate");
  }

  #multipart(body: string): Answer {
    const [, json = ""] = /name="UpdateParameters".*?\r\n\r\n(.*?)\r\n--/s.exec(body) ?? [];
    const [, name = "", content = ""] =
      /name="UpdateFile"; filename="([^"]*)".*?\r\n\r\n(.*?)\r\n--/s.exec(body) ?? [];
    try {
      return this.#start(versionIn(name) ?? versionIn(content), Parameters.parse(JSON.parse(json)));
    } catch {
      return invalid("UpdateParameters");
    }
  }

  #start(version: string | undefined, parameters: z.infer<typeof Parameters>): Answer {
    if (version === undefined) return invalid("the image");
    const { Targets: paths = [], "@Redfish.OperationApplyTime": applyTime } = parameters;
    const targets = paths.length === 0 ? ["BMC"] : paths.map((path) => path.slice(FIRMWARE.length + 1));
    if (targets.some((id) => !this.firmware.get(id)?.updateable)) return invalid("Targets");
    const endsAt = Date.now() + this.taskMs;
    const index = this.#updates.push({ targets, version, onReset: applyTime === "OnReset", endsAt });
    setTimeout(() => this.#end(index - 1), this.taskMs).unref();
    return { status: 202, headers: { Location: `${MONITOR}${index}` }, body: task("Starting", 0) };
  }

  #end(index: number): void {
    const update = this.#updates[index];
    if (!update || this.failure !== undefined || update.onReset) return;
    for (const id of update.targets) {
      const item = this.firmware.get(id);
      if (item && this.byHash) this.#replace(item, update.version);
      else if (item) item.version = this.installs ?? update.version;
    }
    if (this.restartMs === undefined) return;
    this.#forgotten = this.#updates.length;
    this.onRestart(this.restartMs);
  }

  #replace(item: SimulatedFirmware, version: string): void {
    if (this.byHash === "standby") item.state = "StandbySpare";
    const state = this.byHash === "on-reset" ? "StandbySpare" : "Enabled";
    this.firmware.set(`image-${version}`, { ...item, version, state });
  }

  #monitor(path: string): Answer {
    const index = Number(path.slice(MONITOR.length));
    const update = this.#updates[index - 1];
    if (!update || index <= this.#forgotten) return notFound(path);
    const leftMs = update.endsAt - Date.now();
    if (leftMs > 0) {
      const percent = Math.round(100 - (100 * leftMs) / Math.max(this.taskMs, leftMs));
      return { status: 202, headers: { Location: path }, body: task("Running", percent) };
    }
    if (this.failure !== undefined) {
      const Messages = [{ MessageId: "Update.1.0.VerificationFailed", Message: this.failure }];
      return ok({ ...task("Exception", 100), TaskStatus: "Critical", Messages });
    }
    return ok(task(update.onReset ? "Pending" : "Completed", 100));
  }
}

export function versionIn(text: string): string | undefined {
  return /[- ](\d+(?:\.\d+)+)(?:\.bin)?$/m.exec(text)?.[1];
}

const invalid = (what: string) =>
  refusal(400, "Base.1.8.ActionParameterValueFormatError", `The value of ${what} is not accepted.`);

function task(state: string, percent: number) {
  return {
    Id: "update",
    Name: "Update",
    TaskState: state,
    TaskStatus: "OK",
    PercentComplete: percent,
    Messages: [],
  };
}
