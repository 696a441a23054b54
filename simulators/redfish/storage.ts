import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";
import { TASK_MONITORS } from "./tasks.ts";

const MONITOR = `${TASK_MONITORS}/storage-`;
const TASKS = "/redfish/v1/TaskService/Tasks";
const CONTROLLER = "RAID.1";

export interface SimulatedDrive {
  readonly bytes: number;
  readonly media: "SSD" | "HDD";
  readonly state: string;
  readonly hotspare: string;
  /** The serial number. Defaults to one made from the bay's ID. */
  readonly serialNumber?: string;
  /** Dell's RAID state, if the BMC reports one. */
  readonly raidStatus?: string;
}

export interface SimulatedVolume {
  readonly name: string;
  readonly level: string;
  readonly drives: readonly string[];
  readonly bytes: number;
}

const Link = z.object({ "@odata.id": z.string() });
const Apply = z.object({ "@Redfish.OperationApplyTime": z.enum(["Immediate", "OnReset"]).optional() });
const Create = Apply.extend({
  Name: z.string().min(1),
  RAIDType: z.enum(["RAID0", "RAID1", "RAID5", "RAID6", "RAID10"]),
  CapacityBytes: z.int().positive().optional(),
  Links: z.object({ Drives: z.array(Link).min(1) }),
});

const Erase = z.strictObject({ SanitizationType: z.enum(["BlockErase", "CryptographicErase"]).optional() });
const ERASE = /^\/Drives\/([^/]+)\/Actions\/Drive\.SecureErase$/;

interface Change {
  readonly target: string;
  readonly onReset: boolean;
  readonly endsAt: number;
  readonly apply: () => void;
  applied: boolean;
}

/** A RAID controller with drives and volumes. Changes of volumes are tasks. */
export class SimulatedStorage implements ResourceService {
  readonly drives = new Map<string, SimulatedDrive>(["0", "1"].map((id) => [id, simulatedDrive()]));
  readonly volumes = new Map<string, SimulatedVolume>();
  levels: readonly string[] = ["RAID0", "RAID1", "RAID5", "RAID6", "RAID10"];
  /** The IDs of the drives that were erased, in order. */
  readonly erased: string[] = [];
  /** Whether drives can be erased, and whether a task shows the end. */
  erasing: "task" | "no-task" | "none" = "task";
  /** How long each task runs, in milliseconds. */
  taskMs = 0;
  /** The reason with which tasks fail; undefined if they succeed. */
  failure: string | undefined;
  /** The level of new volumes, whatever was requested. */
  makes: string | undefined;
  /** How long the BMC is unavailable at the end of a task, which it then has forgotten. */
  restartMs: number | undefined;
  onRestart: (downMs: number) => void = () => undefined;

  readonly #root: string;
  readonly #own: string;
  readonly #changes: Change[] = [];
  #forgotten = 0;
  #lastId = 0;

  constructor(system: string, machine: SimulatedMachine) {
    this.#root = `${system}/Storage`;
    this.#own = `${this.#root}/${CONTROLLER}`;
    machine.on("boot", () => {
      for (const change of this.#changes) if (change.onReset) this.#carryOut(change);
    });
  }

  /** Adds a volume as if it had always existed. Returns its ID. */
  add(volume: SimulatedVolume): string {
    this.#lastId++;
    this.volumes.set(String(this.#lastId), volume);
    return String(this.#lastId);
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    if (path.startsWith(MONITOR)) return this.#monitor(path);
    const volumes = `${this.#own}/Volumes`;
    if (method === "POST" && path === volumes) return this.#create(body);
    const id = path.startsWith(`${volumes}/`) ? path.slice(volumes.length + 1) : "";
    if (method === "DELETE" && this.volumes.has(id)) return this.#delete(path, id, body);
    const erase = ERASE.exec(path.slice(this.#own.length))?.[1] ?? "";
    if (method === "POST" && path.startsWith(this.#own) && this.drives.has(erase))
      return this.#erase(path, erase, body);
    const found = this.#resource(path);
    if (found) return method === "GET" ? ok(found) : methodNotAllowed(method);
    return path.startsWith(`${this.#own}/`) ? notFound(path) : undefined;
  }

  #resource(path: string): Record<string, unknown> | undefined {
    const drives = `${this.#own}/Drives`;
    const volumes = `${this.#own}/Volumes`;
    if (path === this.#root) return collection(path, "Storage", [this.#own]);
    if (path === TASKS) {
      const ids = this.#changes.map((_, index) => `${TASKS}/${index + 1}`);
      return collection(path, "Task", ids.slice(this.#forgotten));
    }
    if (path === this.#own) {
      return resource(path, "Storage", {
        Name: "RAID",
        Drives: [...this.drives.keys()].map((id) => link(`${drives}/${id}`)),
        Volumes: link(volumes),
        StorageControllers: [
          {
            MemberId: "0",
            Name: "RAID",
            Manufacturer: "Contoso",
            Model: "RC-9",
            SerialNumber: "RC-1",
            FirmwareVersion: "51.10",
            SupportedRAIDTypes: this.levels,
            Status: { State: "Enabled", Health: "OK" },
          },
        ],
      });
    }
    if (path === volumes) {
      const ids = [...this.volumes.keys()].map((id) => `${volumes}/${id}`);
      const times = { SupportedValues: ["Immediate", "OnReset"] };
      return { ...collection(path, "Volume", ids), "@Redfish.OperationApplyTimeSupport": times };
    }
    const id = path.split("/").at(-1) ?? "";
    if (path === `${drives}/${id}`) return this.#drive(path, id);
    if (path === `${volumes}/${id}`) return this.#volume(path, id);
    return path === `${TASKS}/${id}` ? this.#task(path, Number(id)) : undefined;
  }

  #drive(path: string, id: string) {
    const drive = this.drives.get(id);
    if (!drive) return undefined;
    const { bytes, media, state, hotspare, raidStatus, serialNumber = `DISK-${id}` } = drive;
    const used = [...this.volumes].filter(([, volume]) => volume.drives.includes(id));
    return resource(path, "Drive", {
      Name: `Disk ${id}`,
      Manufacturer: "Contoso Disks",
      Model: "Contoso Platter",
      SerialNumber: serialNumber,
      CapacityBytes: bytes,
      MediaType: media,
      Protocol: "SAS",
      HotspareType: hotspare,
      Status: { State: state, Health: "OK" },
      ...(this.erasing === "none"
        ? {}
        : {
            Actions: {
              "#Drive.SecureErase": {
                target: `${path}/Actions/Drive.SecureErase`,
                "SanitizationType@Redfish.AllowableValues": ["BlockErase", "CryptographicErase"],
              },
            },
          }),
      Links: { Volumes: used.map(([volume]) => link(`${this.#own}/Volumes/${volume}`)) },
      ...(raidStatus === undefined
        ? {}
        : { Oem: { Dell: { DellPhysicalDisk: { RaidStatus: raidStatus } } } }),
    });
  }

  #volume(path: string, id: string) {
    const volume = this.volumes.get(id);
    if (!volume) return undefined;
    return resource(path, "Volume", {
      Name: volume.name,
      RAIDType: volume.level,
      CapacityBytes: volume.bytes,
      Status: { State: "Enabled", Health: "OK" },
      Links: { Drives: volume.drives.map((drive) => link(`${this.#own}/Drives/${drive}`)) },
    });
  }

  #create(body: unknown): Answer {
    const parsed = Create.safeParse(body);
    if (!parsed.success) return invalid("Volume");
    const { Name: name, RAIDType, CapacityBytes, Links } = parsed.data;
    const ids = Links.Drives.map((drive) => drive["@odata.id"].slice(`${this.#own}/Drives/`.length));
    const drives = ids.flatMap((id) => this.drives.get(id) ?? []);
    const isUsed = [...this.volumes.values()].some((volume) => ids.some((id) => volume.drives.includes(id)));
    if (drives.length < ids.length || isUsed) return invalid("Drives");
    const bytes = CapacityBytes ?? Math.min(...drives.map((drive) => drive.bytes));
    return this.#start(`${this.#own}/Volumes`, parsed.data, () => {
      if (ids.every((id) => this.drives.has(id))) {
        this.add({ name, level: this.makes ?? RAIDType, drives: ids, bytes });
      }
    });
  }

  #delete(path: string, id: string, body: unknown): Answer {
    const parsed = Apply.safeParse(body === undefined || body === "" ? {} : body);
    if (!parsed.success) return invalid("@Redfish.OperationApplyTime");
    return this.#start(path, parsed.data, () => this.volumes.delete(id));
  }

  #erase(path: string, id: string, body: unknown): Answer {
    if (this.erasing === "none") return notFound(path);
    if (!Erase.safeParse(body).success) return invalid("SanitizationType");
    const apply = () => void this.erased.push(id);
    if (this.erasing === "task") return this.#start(path, {}, apply);
    apply();
    return noContent;
  }

  #start(target: string, given: z.infer<typeof Apply>, apply: () => void): Answer {
    const onReset = given["@Redfish.OperationApplyTime"] === "OnReset";
    const change: Change = { target, onReset, endsAt: Date.now() + this.taskMs, apply, applied: false };
    const index = this.#changes.push(change);
    if (!onReset) setTimeout(() => this.#end(change), this.taskMs).unref();
    return { status: 202, headers: { Location: `${MONITOR}${index}` }, body: this.#state(index) };
  }

  #end(change: Change): void {
    this.#carryOut(change);
    if (this.restartMs === undefined) return;
    this.#forgotten = this.#changes.length;
    this.onRestart(this.restartMs);
  }

  #carryOut(change: Change): void {
    if (change.applied) return;
    change.applied = true;
    if (this.failure === undefined) change.apply();
  }

  #monitor(path: string): Answer {
    const index = Number(path.slice(MONITOR.length));
    const change = this.#changes[index - 1];
    if (!change || index <= this.#forgotten) return notFound(path);
    const isRunning = !change.onReset && !change.applied;
    return { status: isRunning ? 202 : 200, headers: { Location: path }, body: this.#state(index) };
  }

  #task(path: string, index: number) {
    const change = this.#changes[index - 1];
    if (!change || index <= this.#forgotten) return undefined;
    const Payload = { TargetUri: change.target };
    return resource(path, "Task", { ...this.#state(index), Payload });
  }

  #state(index: number) {
    const change = this.#changes[index - 1];
    if (!change?.applied) {
      return { Name: "Volumes", TaskState: change?.onReset ? "Pending" : "Running", TaskStatus: "OK" };
    }
    if (this.failure === undefined) return { Name: "Volumes", TaskState: "Completed", TaskStatus: "OK" };
    const Messages = [{ MessageId: "Contoso.1.0.VolumeFailed", Message: this.failure }];
    return { Name: "Volumes", TaskState: "Exception", TaskStatus: "Critical", Messages };
  }
}

/** Makes a free SSD of 960 GB with these properties changed. */
export function simulatedDrive(given: Partial<SimulatedDrive> = {}): SimulatedDrive {
  return { bytes: 960_197_124_096, media: "SSD", state: "Enabled", hotspare: "None", ...given };
}

const link = (path: string) => ({ "@odata.id": path });

const invalid = (what: string) =>
  refusal(400, "Base.1.8.ActionParameterValueFormatError", `The value of ${what} is not accepted.`);
