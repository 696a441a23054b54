import { HttpListener, type HttpListenerOptions, type Reply, type SeenRequest } from "../http-listener.ts";
import { type PowerAction, SimulatedMachine, type SimulatedPower } from "../machine.ts";
import {
  type Answer,
  envelope,
  type Fields,
  fault,
  instance,
  isReference,
  output,
  uriOf,
} from "./answers.ts";
import { DigestGuard } from "./digest-guard.ts";
import { Enumerations } from "./enumerations.ts";
import {
  BOOT_SETTINGS,
  CONFIGURATION,
  FIXED_INSTANCES,
  GENERAL_SETTINGS,
  MANAGED_SYSTEM,
  PXE,
  SOURCES,
  service,
} from "./fixed-instances.ts";
import { type Asked, hasElement, readRequest, selectorsIn, valueIn } from "./request.ts";

export interface AmtDeviceOptions extends HttpListenerOptions {
  readonly machine?: SimulatedMachine;
  readonly username?: string;
  readonly password?: string;
  /** How many times a nonce may be used before it is stale. Unlimited by default. */
  readonly usesOfNonce?: number;
  /** Whether the device offers `auth-int` as well as `auth`, as Intel AMT 14.0 and later do. */
  readonly authInt?: boolean;
  /** Whether an agent runs in the operating system, so that graceful requests are offered. Defaults to true. */
  readonly agent?: boolean;
  /** The user consent. `required` is client control mode without consent: boot options are accepted and ignored. */
  readonly consent?: "none" | "required" | "given" | "unknown-to-it";
  /** Whether the power association can be read with Get. If false, it can only be enumerated. Defaults to true. */
  readonly getsPower?: boolean;
  /** Whether the device accepts a boot order but does not store it, as some firmware does. */
  readonly forgetsBootOrder?: boolean;
  /** Instances that replace the device's own, by class. Power and boot change them. */
  readonly instances?: Readonly<Record<string, readonly Fields[]>>;
  /** The operations that the device refuses, such as `Get IPS_OptInService`. */
  readonly refusals?: Readonly<Record<Operation, Answer>>;
  /** The `Server` header of the device. */
  readonly server?: string;
  /** Answers that replace the device's. */
  readonly replay?: DeviceReplay;
}

interface DeviceReplay {
  /** Returns undefined for what the device answers itself. `carryOut` makes the device perform the request. */
  play(asked: Asked, carryOut: () => void): Reply | undefined;
  /** Whether the connection closes without an answer, even for a request without a login. */
  drops(asked: Asked): boolean;
}

/** The name of a request, such as `Get CIM_ComputerSystem` or `SetBootConfigRole`. */
type Operation = string;

const ASSOCIATION = "CIM_AssociatedPowerManagementService";
const BOOT_CONFIGURATION = { of: "CIM_BootConfigSetting", keys: { InstanceID: CONFIGURATION } };
const STANDARD = [
  ...["Get", "Put"].map((name) => `http://schemas.xmlsoap.org/ws/2004/09/transfer/${name}`),
  ...["Enumerate", "Pull", "Release"].map(
    (name) => `http://schemas.xmlsoap.org/ws/2004/09/enumeration/${name}`,
  ),
];
const METHODS: Readonly<Record<string, string>> = {
  RequestPowerStateChange: "CIM_PowerManagementService",
  SetBootConfigRole: "CIM_BootService",
  ChangeBootOrder: "CIM_BootConfigSetting",
};
const UNREACHABLE = fault(
  "DestinationUnreachable",
  "No route can be determined to reach the destination role defined by the WSAddressing To.",
);

const REQUESTS: Readonly<Record<number, PowerAction>> = {
  2: "on",
  5: "cycle",
  6: "off",
  8: "off",
  10: "reset",
  12: "soft-off",
};
const STATES: Readonly<Record<SimulatedPower, number>> = {
  on: 2,
  off: 8,
  "powering-on": 8,
  "powering-off": 2,
};

/** A simulated Intel AMT device on a real socket, with digest authentication, power, and a one-time boot from the network. */
export class AmtDevice {
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  readonly guard: DigestGuard;
  readonly http: HttpListener;
  /** The authenticated requests in order. */
  readonly operations: Operation[] = [];
  /** The current AMT_BootSettingData. */
  readonly settings: Record<string, string>;
  readonly #options: AmtDeviceOptions;
  readonly #scripted: { readonly operation: Operation; readonly reply: Reply | Answer }[] = [];
  readonly #enumerations = new Enumerations();
  #armed = false;
  #source: string | undefined;

  constructor(options: AmtDeviceOptions) {
    this.#options = options;
    this.machine = options.machine ?? new SimulatedMachine();
    this.username = options.username ?? "admin";
    this.password = options.password ?? "P@ssw0rd";
    this.guard = new DigestGuard(
      this.username,
      this.password,
      options.usesOfNonce ?? Number.POSITIVE_INFINITY,
      options.authInt ?? false,
    );
    this.http = new HttpListener(options, (request) => this.#answer(request));
    const [settings] = options.instances?.["AMT_BootSettingData"] ?? [];
    this.settings = settings
      ? Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))
      : { ...BOOT_SETTINGS };
    this.#adoptBoot();
    // A boot uses up the single-use role, and the source with it.
    this.machine.on("boot", () => {
      this.#armed = false;
      this.#source = undefined;
    });
  }

  /** Sets the answer to the next request of that operation, which is then not carried out. */
  script(operation: Operation, reply: Reply | Answer): void {
    this.#scripted.push({ operation, reply });
  }

  async close(): Promise<void> {
    this.machine.close();
    await this.http.close();
  }

  #answer({ method, path, headers, body }: SeenRequest): Reply {
    if (path !== "/wsman") return { status: 404 };
    const challenge = this.guard.check(headers.authorization, method, path);
    // Intel AMT sends its name in every answer.
    const { server = "Intel(R) Active Management Technology 16.1.25", refusals = {} } = this.#options;
    const named = { Server: server };
    const asked = readRequest(body);
    if (challenge !== undefined) {
      const drops = this.#options.replay?.drops(asked) && { drops: true as const };
      return { status: 401, headers: { ...named, "WWW-Authenticate": challenge }, ...drops };
    }
    const action = asked.action.replace(/^.*\//, "");
    const operation = STANDARD.includes(asked.action) ? `${action} ${asked.resource}` : action;
    this.operations.push(operation);
    const scripted = this.#scripted.findIndex((entry) => entry.operation === operation);
    if (scripted < 0) {
      const carryOut = () => this.#carryOut(action, asked);
      const played = this.#options.replay?.play(asked, carryOut);
      if (!played) return (refusals[operation] ?? carryOut())(asked);
      if (played.status !== 401) return played;
      return { ...played, headers: { ...named, "WWW-Authenticate": this.guard.challenge(false) } };
    }
    const [entry] = this.#scripted.splice(scripted, 1);
    return typeof entry?.reply === "function" ? entry.reply(asked) : (entry?.reply ?? { status: 500 });
  }

  #carryOut(action: string, asked: Asked): Answer {
    if (!STANDARD.includes(asked.action)) return this.#invoke(action, asked);
    const { resource, resourceUri } = asked;
    const instances = resourceUri === uriOf(resource) ? this.#instances(resource) : undefined;
    if (!instances) return UNREACHABLE;
    switch (action) {
      case "Get":
        return this.#get(asked, instances);
      case "Put":
        return this.#putSettings(asked);
      case "Enumerate":
        return this.#enumerations.start(asked, instances);
      case "Pull":
        return this.#enumerations.pull(asked);
      default:
        return this.#enumerations.release(asked);
    }
  }

  #get({ resource, selectors }: Asked, instances: readonly Fields[]): Answer {
    if (resource === ASSOCIATION && this.#options.getsPower === false) return UNREACHABLE;
    const isMeant = (fields: Fields) =>
      [...selectors].every(([name, value]) => typeof fields[name] === "object" || fields[name] === value);
    const [only, another] = instances.filter(isMeant);
    if (!only || another) return fault("InvalidSelectors", "The Selectors for the resource are not valid.");
    return envelope(instance(resource, only));
  }

  #invoke(method: string, asked: Asked): Answer {
    const { action, resource, body } = asked;
    if (METHODS[method] !== resource || action !== `${uriOf(resource)}/${method}`) {
      return fault("ActionNotSupported", "The action is not supported by the service.");
    }
    switch (method) {
      case "RequestPowerStateChange":
        return this.#changePower(Number(valueIn(body, "PowerState")));
      case "SetBootConfigRole":
        this.#armed = valueIn(body, "Role") === "1" && this.#takesBootOptions();
        break;
      default: {
        const source = selectorsIn(body).get("InstanceID");
        if (source !== undefined && !this.#sources().includes(source)) return output(method, 5);
        // A source and these options are mutually exclusive.
        if (source !== undefined && this.settings["UseIDER"] === "true") return output(method, 2);
        this.#source = this.#takesBootOptions() && !this.#options.forgetsBootOrder ? source : undefined;
      }
    }
    this.#decideBoot();
    return output(method, 0);
  }

  /** Returns the instances of a class, or undefined if the device does not have the class. */
  #instances(resource: string): readonly Fields[] | undefined {
    const given = this.#options.instances?.[resource];
    switch (resource) {
      case ASSOCIATION:
        return [this.#powerInstance()];
      case "IPS_OptInService": {
        const { consent = "none" } = this.#options;
        if (given) return given;
        if (consent === "unknown-to-it") return undefined;
        const required = consent === "none" ? 0 : 4_294_967_295;
        const named = service(resource, "Intel(r) AMT OptIn Service");
        return [{ ...named, OptInRequired: required, OptInState: consent === "given" ? 3 : 0 }];
      }
      case "AMT_BootSettingData":
        return [this.settings];
      case "CIM_ElementSettingData": {
        const of = { IsCurrent: 2, ManagedElement: MANAGED_SYSTEM };
        const other = { of: "AMT_GeneralSettings", keys: { InstanceID: GENERAL_SETTINGS } };
        const IsNext = this.#armed ? 3 : 2;
        if (given) return given.map((fields) => (isOfBoot(fields) ? { ...fields, IsNext } : fields));
        return [
          { ...of, IsCurrent: 1, IsNext: 1, SettingData: other },
          { ...of, IsNext: 2, SettingData: other },
          { ...of, IsNext, SettingData: BOOT_CONFIGURATION },
        ];
      }
      case "CIM_OrderedComponent": {
        const AssignedSequence = (source: string | undefined) => (source === this.#source ? 1 : 0);
        if (given)
          return given.map((fields) => ({ ...fields, AssignedSequence: AssignedSequence(sourceOf(fields)) }));
        return SOURCES.map((source) => ({
          AssignedSequence: AssignedSequence(source),
          GroupComponent: BOOT_CONFIGURATION,
          PartComponent: { of: "CIM_BootSourceSetting", keys: { InstanceID: source } },
        }));
      }
      default:
        return given ?? FIXED_INSTANCES[resource];
    }
  }

  /**
   * Returns the power association. What a device offers depends on its state, so given values apply to the state at that
   * time.
   */
  #powerInstance(): Fields {
    const { power } = this.machine;
    const PowerState = STATES[power];
    const [given] = this.#options.instances?.[ASSOCIATION] ?? [];
    const own = power === "off" ? [2] : [10, 8, 5, 11, ...(this.#options.agent === false ? [] : [12, 14])];
    if (!given) {
      const requested = { RequestedPowerState: 2, UserOfService: MANAGED_SYSTEM };
      return { AvailableRequestedPowerStates: own, PowerState, ...requested };
    }
    if ((Number(given["PowerState"]) === STATES.on) === (PowerState === STATES.on)) return given;
    const offered = "AvailableRequestedPowerStates" in given ? { AvailableRequestedPowerStates: own } : {};
    return { ...given, PowerState, ...offered };
  }

  /** Whether the device accepts a request now. If it does not say what it offers, it accepts every request. */
  #offers(request: number): boolean {
    const offered = this.#powerInstance()["AvailableRequestedPowerStates"];
    return offered === undefined || [offered].flat().map(Number).includes(request);
  }

  /** Sets the boot override that the given instances describe. */
  #adoptBoot(): void {
    const { instances = {} } = this.#options;
    const [configuration] = (instances["CIM_ElementSettingData"] ?? []).filter(isOfBoot);
    this.#armed = ["1", "3"].includes(String(configuration?.["IsNext"]));
    const inUse = (instances["CIM_OrderedComponent"] ?? []).filter(
      ({ AssignedSequence }) => Number(AssignedSequence) > 0,
    );
    const [first] = inUse.toSorted((one, other) => sequenceOf(one) - sequenceOf(other));
    this.#source = first && sourceOf(first);
    if (this.#armed) this.#decideBoot();
  }

  #changePower(request: number): Answer {
    const action = REQUESTS[request];
    const offered = action !== undefined && this.#offers(request);
    return output("RequestPowerStateChange", offered && this.machine.do(action) ? 0 : 2);
  }

  #putSettings({ resource, body }: Asked): Answer {
    if (resource !== "AMT_BootSettingData") {
      return fault("ActionNotSupported", "The action is not supported by the service.");
    }
    for (const readOnly of ["BIOSLastStatus", "OptionsCleared"]) {
      if (hasElement(body, readOnly)) return fault("InvalidRepresentation", "A property is read-only.");
    }
    for (const name of Object.keys(this.settings)) {
      if (hasElement(body, name)) this.settings[name] = valueIn(body, name);
    }
    return envelope(instance("AMT_BootSettingData", this.settings));
  }

  #sources(): readonly (string | undefined)[] {
    return this.#options.instances?.["CIM_OrderedComponent"]?.map(sourceOf) ?? SOURCES;
  }

  #takesBootOptions(): boolean {
    return this.#options.consent !== "required";
  }

  #decideBoot(): void {
    const { mode } = this.machine.override;
    const boots = this.#armed && this.#source === PXE;
    this.machine.override = boots
      ? { device: "pxe", enabled: "once", mode }
      : { device: "none", enabled: "disabled", mode };
  }
}

function isOfBoot({ SettingData: setting }: Fields): boolean {
  return isReference(setting) && setting.of === "CIM_BootConfigSetting";
}

function sourceOf({ PartComponent: source }: Fields): string | undefined {
  const id = isReference(source) ? source.keys["InstanceID"] : undefined;
  return id === undefined ? undefined : String(id);
}

function sequenceOf({ AssignedSequence }: Fields): number {
  return Number(AssignedSequence);
}

/** Starts a device. It listens when the promise resolves. */
export async function startAmtDevice(options: AmtDeviceOptions = {}): Promise<AmtDevice> {
  const device = new AmtDevice(options);
  await device.http.listen(options.port);
  return device;
}
