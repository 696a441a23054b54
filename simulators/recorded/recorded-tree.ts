import type { Recording } from "../../shared/recording/recording.ts";
import { SimulatedMachine as Machine, type SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "../redfish/answer.ts";
import { BOOT_TARGETS, patchBoot, showBoot } from "../redfish/boot-override.ts";
import { CERTIFICATE_SERVICE } from "../redfish/certificates.ts";
import { checkIfMatch, withTag } from "../redfish/etag.ts";
import { SCREEN } from "../redfish/manager.ts";
import { readNew } from "../redfish/network.ts";
import type { RedfishProfile } from "../redfish/profiles.ts";
import { RESET_ACTIONS, reset } from "../redfish/reset.ts";
import type { ResourceRequest, WholeTree } from "../redfish/resource-service.ts";
import { versionIn } from "../redfish/update-service.ts";
import { allowedValues, bootProfile, profileOf, settingsOf } from "./profile.ts";
import { Replay, withoutFraming } from "./replay.ts";
import {
  type Body,
  isBody,
  linkOf,
  membersOf,
  merge,
  type OwnedAction,
  RecordedResources,
  setMembers,
} from "./resources.ts";
import { RecordedTasks } from "./tasks.ts";

const ROOT = "/redfish/v1";
/** The path of the keys of a Secure Boot database. */
const KEYS = /\/SecureBootDatabases\/[^/]+\/(Certificates|Signatures)(\/[^/]+)?$/;
const SHORTEST_PASSWORD = 8;
const POWER_STATES: readonly unknown[] = ["On", "Off", "PoweringOn", "PoweringOff"];
const OVERRIDE = ["BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"];

export interface RecordedTreeOptions {
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  /** The factor by which it is faster than the recording. */
  readonly speed: number;
}

/** Settings that are applied by the next boot. */
interface Pending {
  readonly values: Body;
  isScheduled: boolean;
}

/**
 * The tree of a recorded machine, which changes as the machine did: a recorded exchange is repeated, and otherwise resources
 * change by the rules of the specification, like those of the simulator's own machine.
 */
export class RecordedTree implements WholeTree {
  readonly profile: RedfishProfile;
  /** Called when the BMC should restart. */
  onRestart: () => void = () => undefined;
  /** When the BMC was last reset in this replay. */
  #restartedMs: number | undefined;
  readonly #resources: RecordedResources;
  readonly #recording: Recording;
  readonly #replay: Replay;
  readonly #tasks = new RecordedTasks();
  /** The machines by path of their system. */
  readonly #machines = new Map<string, SimulatedMachine>();
  /** Machines with a recorded power state that no simulated machine has, such as `Paused`, until their power changes. */
  readonly #otherPower = new Set<SimulatedMachine>();
  /** The pending settings, by path of the resource that takes them. */
  readonly #pending = new Map<string, Pending>();
  readonly #passwords = new Map<string, string>();
  readonly #clockSkewMs: number;

  constructor(recording: Recording, options: RecordedTreeOptions) {
    this.#recording = recording;
    this.#resources = new RecordedResources(recording.resources);
    this.#resources.set(ROOT, rootOf(this.#resources));
    this.profile = profileOf(this.#resources, recording);
    this.#replay = new Replay(recording.exchanges ?? [], options.speed);
    this.#passwords.set(options.username, options.password);
    this.#clockSkewMs = recording.clockSkewMs ?? 0;
    this.#adoptMachines(options.machine);
  }

  get root(): unknown {
    return this.#resources.get(ROOT);
  }

  /** The serial console over SSH, if the machine has one, with the command that leads to it on the BMC's command line. */
  get sshConsole(): { readonly entryCommand?: string } | undefined {
    for (const [path] of this.#machines) {
      const console = this.#resources.get(path)?.["SerialConsole"];
      const ssh = isBody(console) ? console["SSH"] : undefined;
      if (!isBody(console) || !isBody(ssh) || ssh["ServiceEnabled"] !== true) continue;
      const { ConsoleEntryCommand: entryCommand } = console;
      return typeof entryCommand === "string" ? { entryCommand } : {};
    }
    return undefined;
  }

  accepts(username: string, password: string): boolean {
    return this.#passwords.get(username) === password;
  }

  play(request: string, asked: ResourceRequest): Answer | undefined {
    const isRead = asked.method === "GET";
    if (!isRead) for (const [path, body] of this.#replay.settled()) this.#settle(path, body);
    const played = this.#replay.play(request, asked.body);
    // The machine follows what was accepted, so that it can answer what was not recorded.
    if (!isRead && played?.isAccepted) this.answer(asked);
    if (played) return played.answer;
    // Each page of a collection has its own address.
    const address = request.slice(asked.method.length + 1);
    const page = isRead && address.includes("?") ? this.#resources.get(address) : undefined;
    return page && { ...ok(page), delayMs: 0 };
  }

  answer(asked: ResourceRequest): Answer | undefined {
    const { method, path, body } = asked;
    if (this.#isCertificate(path)) return undefined;
    const task = this.#tasks.monitor(path);
    if (task) return task;
    const refused = this.#recording.refusals?.[path];
    if (refused && method === "GET" && !this.#resources.has(path))
      return this.#timed(path, { ...refused, headers: withoutFraming(refused.headers ?? {}) });
    if (method === "POST") return this.#post(asked);
    const resource = this.#resources.get(path);
    if (!resource) return method === "GET" ? notFound(path) : methodNotAllowed(method);
    if (method === "GET") return this.#timed(path, this.#shown(path, resource));
    if (method === "DELETE") return this.#delete(path, resource, body);
    return method === "PATCH" ? this.#patch(asked, resource) : methodNotAllowed(method);
  }

  /** Delays an answer as much as it took when it was recorded. */
  #timed(path: string, answer: Answer): Answer {
    const delayMs = this.#recording.slow?.[path];
    return delayMs === undefined ? answer : { ...answer, delayMs };
  }

  #adoptMachines(first: SimulatedMachine): void {
    const systems = this.#resources
      .ofType("ComputerSystem")
      .filter(
        ([path]) => this.#resources.get(`${ROOT}/Systems`) === undefined || /\/Systems\/[^/]+$/.test(path),
      );
    const resettable = systems.filter(
      ([, { Actions }]) => isBody(Actions) && "#ComputerSystem.Reset" in Actions,
    );
    const [main] = resettable[0] ?? systems[0] ?? [];
    for (const [path, body] of systems) {
      const machine = path === main ? first : new Machine({ name: path });
      this.#force(machine, body);
      for (const change of ["boot", "power"] as const)
        machine.on(change, () => this.#otherPower.delete(machine));
      const boot = this.#bootOf(path);
      if (boot) machine.override = { ...machine.override, ...overrideOf(boot) };
      machine.on("boot", () => this.#boot(path));
      this.#machines.set(path, machine);
    }
  }

  #isCertificate(path: string): boolean {
    const own =
      path.startsWith(CERTIFICATE_SERVICE) || /\/NetworkProtocol\/HTTPS\/Certificates(\/|$)/.test(path);
    if (own) return this.#resources.has(CERTIFICATE_SERVICE) && this.profile.certificates !== "hpe";
    return /\/SecurityService\/HttpsCert(\/|$)/.test(path) && this.profile.certificates === "hpe";
  }

  /** Returns the `Boot` that takes the override of a system: its own, or that of its settings. */
  #bootOf(system: string): Body | undefined {
    const body = this.#resources.get(system);
    return isBody(body?.["Boot"]) ? body["Boot"] : undefined;
  }

  #settle(path: string, body: unknown): void {
    if (!isBody(body)) return;
    this.#resources.set(path, structuredClone(body));
    const machine = this.#machines.get(path);
    if (machine) this.#force(machine, body);
  }

  #force(machine: SimulatedMachine, { PowerState: power }: Body): void {
    machine.force(power === "Off" ? "off" : "on");
    if (POWER_STATES.includes(power)) this.#otherPower.delete(machine);
    else this.#otherPower.add(machine);
  }

  #shown(path: string, body: Body): Answer {
    const machine = this.#machines.get(path) ?? this.#machineBehind(path);
    const shown = { ...body };
    if (machine && "PowerState" in body && !this.#otherPower.has(machine))
      shown["PowerState"] = powerOf(machine);
    if (machine && isBody(body["Boot"]) && OVERRIDE.some((name) => name in Object(body["Boot"]))) {
      shown["Boot"] = { ...body["Boot"], ...this.#override(machine, body["Boot"]) };
    }
    if (machine?.sshConsole && isBody(shown["SerialConsole"])) {
      const console = structuredClone(shown["SerialConsole"]);
      merge(console, { SSH: { Port: machine.sshConsole.port } });
      shown["SerialConsole"] = console;
    }
    if (this.#resources.typeOf(path) === "Manager" && typeof body["DateTime"] === "string") {
      shown["DateTime"] = this.#onItsClock(Date.now());
      if ("DateTimeLocalOffset" in body) shown["DateTimeLocalOffset"] = "+00:00";
    }
    if (this.#restartedMs !== undefined && typeof body["LastResetTime"] === "string") {
      if (this.#resources.typeOf(path) === "Manager")
        shown["LastResetTime"] = this.#onItsClock(this.#restartedMs);
    }
    const { etag } = this.#recording;
    if (etag === undefined || Array.isArray(body["Members"])) return ok(shown);
    return withTag(shown, this.profile);
  }

  #onItsClock(ms: number): string {
    return `${new Date(ms + this.#clockSkewMs).toISOString().slice(0, 19)}+00:00`;
  }

  /** Shows the override. A recorded target that the simulator's machine does not have stays until it is changed. */
  #override(machine: SimulatedMachine, boot: Body): Body {
    const shown = showBoot(machine, bootProfile(this.profile, boot));
    const isForeign = machine.override.device === "none" && machine.override.enabled !== "disabled";
    return Object.fromEntries(
      Object.entries(shown).filter(([name]) => name in boot && !(isForeign && name.endsWith("Target"))),
    );
  }

  /** Returns the machine of the system to which a settings resource belongs. */
  #machineBehind(path: string): SimulatedMachine | undefined {
    const owner = [...this.#machines].find(
      ([system]) => settingsOf(this.#resources.get(system) ?? {}) === path,
    );
    return owner?.[1];
  }

  #boot(system: string): void {
    this.#tasks.boot();
    for (const [path, pending] of this.#pending) {
      if (!pending.isScheduled || !path.startsWith(`${system}/`)) continue;
      const owner = this.#ownerOf(path);
      if (owner) merge(owner[1], pending.values);
      const settings = this.#resources.get(path);
      for (const name of Object.keys(pending.values))
        if (settings && isBody(settings[name])) settings[name] = {};
      this.#pending.delete(path);
    }
    for (const [path, body] of this.#resources.ofType("SecureBoot")) {
      if (!path.startsWith(`${system}/`)) continue;
      const hasKeys = body["SecureBootMode"] !== "SetupMode";
      body["SecureBootCurrentBoot"] = body["SecureBootEnable"] === true && hasKeys ? "Enabled" : "Disabled";
    }
  }

  /** Returns the resource to which a settings resource belongs. */
  #ownerOf(settings: string): readonly [string, Body] | undefined {
    return this.#resources.all().find(([, body]) => settingsOf(body) === settings);
  }

  #patch({ path, body, ifMatch }: ResourceRequest, resource: Body): Answer {
    const shown = this.#shown(path, resource).body as Body;
    const { "@odata.etag": _, ...untagged } = shown;
    const tagged = this.profile.etagSent === "property" ? untagged : shown;
    const refused =
      this.#recording.etag === undefined ? undefined : checkIfMatch(ifMatch, tagged, this.profile);
    if (refused) return refused;
    if (!isBody(body)) return refusal(400, "Base.1.8.MalformedJSON", "The request body is not JSON.");
    const { "@Redfish.SettingsApplyTime": applyTime, ...change } = body;
    const owner = this.#ownerOf(path);
    if (owner && isBody(change["Attributes"])) return this.#patchSettings(path, owner, change, applyTime);
    const strange = Object.keys(change).find(
      (name) => !(name in resource) && !(name === "Password" && "UserName" in resource),
    );
    if (strange !== undefined) return unknown(strange);
    if (isBody(change["Boot"])) return this.#patchBoot(path, resource, change["Boot"]);
    if (this.#resources.typeOf(path) === "ManagerAccount") return this.#patchAccount(resource, change);
    if (this.#resources.typeOf(path) === "EthernetInterface") return this.#patchInterface(resource, change);
    if (this.#resources.typeOf(path) === "VirtualMedia") return patchMedia(resource, change);
    merge(resource, change);
    return noContent;
  }

  #patchSettings(path: string, owner: readonly [string, Body], change: Body, applyTime: unknown): Answer {
    const settings = owner[1]["@Redfish.Settings"];
    const times = isBody(settings) ? settings["SupportedApplyTimes"] : undefined;
    const time = isBody(applyTime) ? applyTime["ApplyTime"] : undefined;
    if (time !== undefined && !(Array.isArray(times) && times.includes(time))) {
      return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    }
    if (time === "Immediate") {
      merge(owner[1], change);
      return noContent;
    }
    const pending = this.#pending.get(path) ?? { values: {}, isScheduled: false };
    this.#pending.set(path, pending);
    merge(pending.values, change);
    for (const [name, value] of Object.entries(change)) {
      pending.values[name] = isBody(value) ? { ...Object(pending.values[name]), ...value } : value;
    }
    const target = this.#resources.get(path);
    if (target) merge(target, structuredClone(change));
    // If apply times are offered, a request without one is stored but never applied.
    pending.isScheduled ||= !Array.isArray(times) || time === "OnReset";
    return noContent;
  }

  #patchBoot(path: string, resource: Body, change: Body): Answer {
    const boot = resource["Boot"];
    if (!isBody(boot)) return unknown("Boot");
    const machine = this.#machines.get(path) ?? this.#machineBehind(path);
    const isOverride = Object.keys(change).some((name) => OVERRIDE.includes(name));
    if (machine && isOverride) {
      const profile = bootProfile(this.profile, boot);
      const answer = patchBoot({ Boot: change }, machine, profile, () => undefined);
      if (answer.status < 300 && "HttpBootUri" in change) boot["HttpBootUri"] = change["HttpBootUri"] ?? "";
      return answer;
    }
    const strange = Object.keys(change).find((name) => !(name in boot));
    if (strange !== undefined) return unknown(strange);
    const order = change["BootOrder"];
    if (Array.isArray(order) && Array.isArray(boot["BootOrder"]) && !isSameSet(order, boot["BootOrder"])) {
      return refusal(400, "Base.1.8.PropertyValueNotInList", "BootOrder must hold each boot option once.");
    }
    merge(boot, change);
    // The system and its settings show the same override.
    for (const [system] of this.#machines) {
      const both = [system, settingsOf(this.#resources.get(system) ?? {}) ?? ""];
      if (!both.includes(path)) continue;
      for (const place of both) {
        const other = this.#resources.get(place)?.["Boot"];
        if (isBody(other)) merge(other, change);
      }
    }
    return noContent;
  }

  #patchAccount(account: Body, change: Body): Answer {
    const { Password: password, ...rest } = change;
    const before = String(account["UserName"]);
    if (typeof password === "string" && password.length < SHORTEST_PASSWORD) return weakPassword(password);
    const name = String(rest["UserName"] ?? before);
    merge(account, rest);
    const kept = typeof password === "string" ? password : this.#passwords.get(before);
    if (name !== before) this.#passwords.delete(before);
    if (name !== "" && kept !== undefined) this.#passwords.set(name, kept);
    return noContent;
  }

  #patchInterface(resource: Body, change: Body): Answer {
    const moved = readNew(change);
    merge(resource, change);
    const [given] = Array.isArray(change["IPv4StaticAddresses"]) ? change["IPv4StaticAddresses"] : [];
    const isDhcp = isBody(change["DHCPv4"]) ? change["DHCPv4"]["DHCPEnabled"] === true : undefined;
    const present = Array.isArray(resource["IPv4Addresses"]) ? resource["IPv4Addresses"][0] : undefined;
    const origin = isDhcp === undefined ? {} : { AddressOrigin: isDhcp ? "DHCP" : "Static" };
    if (isBody(given) || isDhcp !== undefined) {
      resource["IPv4Addresses"] = [{ ...Object(present), ...Object(given), ...origin }];
    }
    const [machine] = this.#machines.values();
    if (moved) machine?.changeNetwork(moved);
    return noContent;
  }

  #delete(path: string, resource: Body, body: unknown): Answer {
    const type = this.#resources.typeOf(path);
    if (type === "ManagerAccount" && !this.#hasSlots(path.slice(0, path.lastIndexOf("/")))) {
      this.#passwords.delete(String(resource["UserName"]));
      this.#resources.delete(path);
      return noContent;
    }
    if ((type === "Certificate" || type === "Signature") && KEYS.test(path)) {
      this.#resources.delete(path);
      return noContent;
    }
    if (type !== "Volume") return methodNotAllowed("DELETE");
    const onReset = isBody(body) && body["@Redfish.OperationApplyTime"] === "OnReset";
    return this.#tasks.start(onReset, () => {
      this.#resources.delete(path);
      for (const [, drive] of this.#resources.ofType("Drive")) {
        const links = drive["Links"];
        if (isBody(links) && Array.isArray(links["Volumes"])) {
          links["Volumes"] = links["Volumes"].filter((link) => linkOf(link) !== path);
        }
      }
    });
  }

  #hasSlots(collection: string): boolean {
    const members = membersOf(this.#resources.get(collection) ?? {});
    return members.some((member) => this.#resources.get(linkOf(member) ?? "")?.["UserName"] === "");
  }

  #post({ path, body }: ResourceRequest): Answer {
    const action = this.#resources.action(path);
    if (action) return this.#act(action, isBody(body) ? body : {});
    const collection = this.#resources.get(path);
    const given = isBody(body) ? body : {};
    if (collection && /Accounts$/.test(path)) return this.#createAccount(path, given);
    if (collection && /Volumes$/.test(path)) return this.#createVolume(path, given);
    if (collection && KEYS.test(path)) return this.#enrollKey(path, given);
    const [, service] = this.#resources.ofType("UpdateService")[0] ?? [];
    if (service?.["MultipartHttpPushUri"] === path) return this.#multipart(String(body));
    if (service?.["HttpPushUri"] === path) return this.#update(versionIn(String(body)), {});
    return collection ? methodNotAllowed("POST") : notFound(path);
  }

  #enrollKey(path: string, given: Body): Answer {
    const id = String(membersOf(this.#resources.get(path) ?? {}).length + 1);
    const type = path.endsWith("/Signatures")
      ? "#Signature.v1_0_2.Signature"
      : "#Certificate.v1_5_0.Certificate";
    const named = { "@odata.id": `${path}/${id}`, "@odata.type": type, Id: id };
    return { status: 201, headers: { Location: this.#resources.add(path, id, { ...given, ...named }) } };
  }

  #act({ name, owner, body: action }: OwnedAction, given: Body): Answer {
    const resource = this.#resources.get(owner) ?? {};
    switch (name) {
      case "ComputerSystem.Reset": {
        const machine = this.#machines.get(owner) ?? new Machine();
        const resetTypes = allowedValues(this.#resources, action, "ResetType") ?? Object.keys(RESET_ACTIONS);
        return reset(given, machine, { ...this.profile, resetTypes });
      }
      case "Manager.Reset": {
        const types = allowedValues(this.#resources, action, "ResetType");
        const type = given["ResetType"];
        if (types && type !== undefined && !types.includes(String(type))) {
          return refusal(400, "Base.1.8.ActionParameterValueNotInList", `${type} is not in the list.`);
        }
        this.#restartedMs = Date.now();
        this.onRestart();
        return noContent;
      }
      case "VirtualMedia.InsertMedia":
        return insertMedia(resource, given);
      case "VirtualMedia.EjectMedia":
        return ejectMedia(resource);
      case "LogService.ClearLog": {
        const entries = this.#resources.get(linkOf(resource["Entries"]) ?? "");
        if (entries) setMembers(entries, []);
        return noContent;
      }
      case "SecureBoot.ResetKeys": {
        const types = allowedValues(this.#resources, action, "ResetKeysType");
        const type = String(given["ResetKeysType"]);
        if (types && !types.includes(type)) {
          return refusal(400, "Base.1.8.ActionParameterValueNotInList", "ResetKeysType is not in the list.");
        }
        resource["SecureBootMode"] = type === "ResetAllKeysToDefault" ? "UserMode" : "SetupMode";
        return noContent;
      }
      case "Drive.SecureErase":
        return this.#tasks.start(false, () => undefined);
      case "Bios.ResetBios": {
        const place = settingsOf(resource);
        const pending = { values: this.#biosDefaults(resource), isScheduled: true };
        if (place !== undefined) this.#pending.set(place, pending);
        return noContent;
      }
      case "UpdateService.SimpleUpdate":
        return this.#update(versionIn(String(given["ImageURI"])), given);
      case "DellLCService.ExportServerScreenShot":
        return ok({ ServerScreenShotFile: SCREEN.toString("base64") });
      default:
        return refusal(
          400,
          "Base.1.8.ActionNotSupported",
          `The action ${name} is not supported by the resource.`,
        );
    }
  }

  #biosDefaults({ AttributeRegistry: name }: Body): Body {
    const registries = this.#resources
      .ofType("AttributeRegistry")
      .map(([, registry]) => registry["RegistryEntries"]);
    const entries = registries.flatMap((registry) => {
      const attributes = isBody(registry) ? registry["Attributes"] : undefined;
      return Array.isArray(attributes) && name !== undefined ? attributes.filter(isBody) : [];
    });
    const defaults = entries.filter(
      (entry) => entry["DefaultValue"] !== undefined && entry["DefaultValue"] !== null,
    );
    return {
      Attributes: Object.fromEntries(
        defaults.map((entry) => [entry["AttributeName"], entry["DefaultValue"]]),
      ),
    };
  }

  #createAccount(path: string, given: Body): Answer {
    if (this.#hasSlots(path)) return methodNotAllowed("POST");
    const { UserName: name, Password: password, ...rest } = given;
    if (typeof name !== "string" || name === "" || typeof password !== "string") return unknown("UserName");
    const members = membersOf(this.#resources.get(path) ?? {}).map((member) => linkOf(member) ?? "");
    if (members.some((member) => this.#resources.get(member)?.["UserName"] === name)) {
      return refusal(400, "Base.1.8.ResourceAlreadyExists", `${name} exists already.`);
    }
    if (password.length < SHORTEST_PASSWORD) return weakPassword(password);
    const model = this.#resources.get(members[0] ?? "") ?? {};
    const defaults = { RoleId: "ReadOnly", Enabled: true, Locked: false };
    const fields = { ...model, ...defaults, ...rest, UserName: name, Password: null };
    const id = String(1 + Math.max(0, ...members.map((member) => Number(member.split("/").at(-1)) || 0)));
    const added = this.#resources.add(path, id, { ...fields, "@odata.id": `${path}/${id}`, Id: id });
    this.#passwords.set(name, password);
    return { status: 201, headers: { Location: added }, body: this.#resources.get(added) };
  }

  #createVolume(path: string, given: Body): Answer {
    const { Name, RAIDType, CapacityBytes, Links } = given;
    const drives =
      isBody(Links) && Array.isArray(Links["Drives"])
        ? Links["Drives"].map((link) => linkOf(link) ?? "")
        : [];
    const bodies = drives.map((drive) => this.#resources.get(drive));
    if (typeof Name !== "string" || bodies.length === 0 || bodies.includes(undefined)) {
      return refusal(400, "Base.1.8.ActionParameterValueFormatError", "The value of Drives is not accepted.");
    }
    const sizes = bodies.map((drive) => Number(drive?.["CapacityBytes"] ?? 0));
    return this.#tasks.start(given["@Redfish.OperationApplyTime"] === "OnReset", () => {
      const ids = membersOf(this.#resources.get(path) ?? {}).map(
        (member) => Number(linkOf(member)?.split("/").at(-1)) || 0,
      );
      const added = this.#resources.add(path, String(Math.max(0, ...ids) + 1), {
        "@odata.type": "#Volume.v1_6_0.Volume",
        Name,
        RAIDType,
        CapacityBytes: CapacityBytes ?? Math.min(...sizes),
        Status: { State: "Enabled", Health: "OK" },
        Links: { Drives: drives.map((drive) => ({ "@odata.id": drive })) },
      });
      for (const drive of bodies) {
        const links = isBody(drive?.["Links"]) ? drive["Links"] : {};
        const volumes = Array.isArray(links["Volumes"]) ? links["Volumes"] : [];
        if (drive) drive["Links"] = { ...links, Volumes: [...volumes, { "@odata.id": added }] };
      }
    });
  }

  #multipart(body: string): Answer {
    const [, json = "{}"] = /name="UpdateParameters".*?\r\n\r\n(.*?)\r\n--/s.exec(body) ?? [];
    const [, name = "", content = ""] =
      /name="UpdateFile"; filename="([^"]*)".*?\r\n\r\n(.*?)\r\n--/s.exec(body) ?? [];
    try {
      const parameters: unknown = JSON.parse(json);
      return this.#update(versionIn(name) ?? versionIn(content), isBody(parameters) ? parameters : {});
    } catch {
      return refusal(
        400,
        "Base.1.8.ActionParameterValueFormatError",
        "The value of UpdateParameters is not accepted.",
      );
    }
  }

  #update(version: string | undefined, given: Body): Answer {
    const asked = Array.isArray(given["Targets"]) ? given["Targets"].map(String) : [];
    const items = this.#resources.ofType("SoftwareInventory");
    const isOfBmc = ([path, { RelatedItem }]: readonly [string, Body]) =>
      /bmc|idrac|ilo/i.test(path.split("/").at(-1) ?? "") ||
      (Array.isArray(RelatedItem) &&
        RelatedItem.some((item) => /\/Managers\/[^/]+$/.test(linkOf(item) ?? "")));
    const own = items.find(isOfBmc);
    const targets =
      asked.length === 0 ? (own ? [own[1]] : []) : asked.map((path) => this.#resources.get(path));
    if (
      version === undefined ||
      targets.length === 0 ||
      targets.some((target) => target?.["Updateable"] !== true)
    ) {
      const what = version === undefined ? "the image" : "Targets";
      return refusal(
        400,
        "Base.1.8.ActionParameterValueFormatError",
        `The value of ${what} is not accepted.`,
      );
    }
    return this.#tasks.start(given["@Redfish.OperationApplyTime"] === "OnReset", () => {
      for (const target of targets) if (target) target["Version"] = version;
    });
  }
}

/** Returns a service root for trees that lack it. */
function rootOf(resources: RecordedResources): Body {
  const root = resources.get(ROOT) ?? {
    "@odata.id": ROOT,
    Id: "RootService",
    Name: "Root Service",
    RedfishVersion: "1.6.0",
  };
  const links: Body = {};
  for (const name of ["Systems", "Managers", "Chassis", "AccountService", "UpdateService"]) {
    const path = `${ROOT}/${name}`;
    const members = resources
      .all()
      .flatMap(([member]) => (new RegExp(`^${path}/[^/]+$`).test(member) ? [member] : []));
    const isListed = /s$|Chassis/.test(name);
    if (isListed && !resources.has(path) && members.length > 0) {
      const list: Body = { "@odata.id": path, Name: `${name} collection` };
      setMembers(
        list,
        members.map((member) => ({ "@odata.id": member })),
      );
      resources.set(path, list);
    }
    if (!(name in root) && resources.has(path)) links[name] = { "@odata.id": path };
  }
  return { ...links, ...root };
}

function overrideOf(boot: Body): Partial<SimulatedMachine["override"]> {
  const device = BOOT_TARGETS[String(boot["BootSourceOverrideTarget"])] ?? "none";
  const enabled =
    ({ Once: "once", Continuous: "continuous" } as const)[String(boot["BootSourceOverrideEnabled"])] ??
    "disabled";
  const mode = boot["BootSourceOverrideMode"] === "Legacy" ? "legacy" : "uefi";
  return { device, enabled, mode };
}

function powerOf({ power }: SimulatedMachine): string {
  return { on: "On", off: "Off", "powering-on": "PoweringOn", "powering-off": "PoweringOff" }[power];
}

function isSameSet(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.map(String).toSorted().join("\n") === other.map(String).toSorted().join("\n");
}

function insertMedia(drive: Body, { Image: image, Inserted: inserted = true }: Body): Answer {
  if (typeof image !== "string") {
    return refusal(400, "Base.1.8.ActionParameterMissing", "The action requires the parameter Image.");
  }
  const shown = drive["Image"];
  if (drive["Inserted"] ?? (typeof shown === "string" && shown !== "")) {
    return refusal(
      500,
      "IDRAC.2.8.VRM0021",
      "Virtual Media is detached or Virtual Media redirection is already in use.",
    );
  }
  merge(drive, { Image: image, ConnectedVia: "URI", ...("Inserted" in drive ? { Inserted: inserted } : {}) });
  return noContent;
}

/** Handles a PATCH of a drive without actions. No BMC shows the password that it was given. */
function patchMedia(drive: Body, { Password: _, ...change }: Body): Answer {
  merge(drive, { ...change, ConnectedVia: typeof change["Image"] === "string" ? "URI" : "NotConnected" });
  return noContent;
}

function ejectMedia(drive: Body): Answer {
  if (drive["Inserted"] === false) {
    return refusal(500, "IDRAC.2.8.VRM0009", "No Virtual Media devices are currently connected.");
  }
  merge(drive, {
    Image: null,
    ConnectedVia: "NotConnected",
    ...("Inserted" in drive ? { Inserted: false } : {}),
  });
  return noContent;
}

const unknown = (property: string) =>
  refusal(
    400,
    "Base.1.8.PropertyUnknown",
    `The property ${property} is not in the list of valid properties.`,
  );

function weakPassword(password: string): Answer {
  const message = `The value ${password} for the property Password is of a different format than the property can accept: at least ${SHORTEST_PASSWORD} characters.`;
  return refusal(400, "Base.1.8.PropertyValueFormatError", message);
}
