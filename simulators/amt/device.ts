import { HttpListener, type HttpListenerOptions, type Reply, type SeenRequest } from "../http-listener.ts";
import { type PowerAction, SimulatedMachine, type SimulatedPower } from "../machine.ts";
import { envelope, type Fields, fault, instance, output } from "./answers.ts";
import { DigestGuard } from "./digest-guard.ts";

export interface AmtDeviceOptions extends HttpListenerOptions {
  readonly machine?: SimulatedMachine;
  readonly username?: string;
  readonly password?: string;
  /** How often a nonce may be used before it is out of date; without end by default. */
  readonly usesOfNonce?: number;
  /** Whether an agent runs in the operating system, so that graceful requests are offered. Default true. */
  readonly agent?: boolean;
  /** `required` is client control mode without its user's consent: boot options are accepted and ignored. */
  readonly consent?: "none" | "required" | "given" | "unknown-to-it";
  /** False makes the power association one that can only be enumerated. Default true. */
  readonly getsPower?: boolean;
  /** Accepts a boot order and keeps nothing of it, as some firmware does. */
  readonly forgetsBootOrder?: boolean;
}

/** A request as the device understood it, such as `Get CIM_ComputerSystem` or `SetBootConfigRole`. */
type Operation = string;

const PXE = "Intel(r) AMT: Force PXE Boot";
const SOURCES = ["Intel(r) AMT: Force Hard-drive Boot", "Intel(r) AMT: Force CD/DVD Boot", PXE];
const CONFIGURATION = "Intel(r) AMT: Boot Configuration 0";

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

/** An Intel AMT device over a real socket: digest authentication, power, and one boot from the network. */
export class AmtDevice {
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  readonly guard: DigestGuard;
  readonly http: HttpListener;
  /** What was asked and let in, in order. */
  readonly operations: Operation[] = [];
  /** AMT_BootSettingData, as it stands. */
  readonly settings: Record<string, string> = {
    BIOSLastStatus: "2",
    BIOSPause: "false",
    BIOSSetup: "false",
    BootMediaIndex: "0",
    ElementName: "Intel(r) AMT Boot Configuration Settings",
    EnforceSecureBoot: "true",
    InstanceID: "Intel(r) AMT:BootSettingData 0",
    OptionsCleared: "true",
    OwningEntity: "Intel(r) AMT",
    RSEPassword: "",
    UseIDER: "false",
    UseSOL: "false",
  };
  readonly #options: AmtDeviceOptions;
  readonly #scripted: { readonly operation: Operation; readonly reply: Reply }[] = [];
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
    );
    this.http = new HttpListener(options, (request) => this.#answer(request));
    // A boot uses the single-use role up, and the source with it.
    this.machine.on("boot", () => {
      this.#armed = false;
      this.#source = undefined;
    });
  }

  /** Gives the next request of that operation this answer, without carrying it out. */
  script(operation: Operation, reply: Reply): void {
    this.#scripted.push({ operation, reply });
  }

  async close(): Promise<void> {
    this.machine.close();
    await this.http.close();
  }

  #answer({ method, path, headers, body }: SeenRequest): Reply {
    if (path !== "/wsman") return { status: 404 };
    const challenge = this.guard.check(headers.authorization, method, path);
    if (challenge !== undefined) return { status: 401, headers: { "WWW-Authenticate": challenge } };
    const resource = valueIn(body, "ResourceURI").replace(/^.*\//, "");
    const action = valueIn(body, "Action").replace(/^.*\//, "");
    const standard = ["Get", "Put", "Enumerate", "Pull"].includes(action);
    const operation = standard ? `${action} ${resource}` : action;
    this.operations.push(operation);
    const scripted = this.#scripted.findIndex((entry) => entry.operation === operation);
    if (scripted >= 0) return this.#scripted.splice(scripted, 1)[0]?.reply ?? { status: 500 };
    return this.#carryOut(action, resource, body);
  }

  #carryOut(action: string, resource: string, body: string): Reply {
    const instances = this.#instances(resource);
    switch (action) {
      case "Get": {
        const isAssociation = resource === "CIM_AssociatedPowerManagementService";
        const [only] = instances ?? [];
        if (!only || (isAssociation && this.#options.getsPower === false)) return unreachable();
        return envelope(instance(resource, only));
      }
      case "Enumerate":
        return instances ? envelope(enumerated(0)) : unreachable();
      case "Pull": {
        if (!instances) return unreachable();
        const from = Number(valueIn(body, "EnumerationContext"));
        const items = instances.slice(from, from + 2).map((fields) => instance(resource, fields));
        const rest = from + 2 < instances.length ? context(from + 2) : "<e:EndOfSequence></e:EndOfSequence>";
        return envelope(`<e:PullResponse>${rest}<e:Items>${items.join("")}</e:Items></e:PullResponse>`);
      }
      case "Put":
        return this.#putSettings(body);
      case "RequestPowerStateChange":
        return this.#changePower(Number(valueIn(body, "PowerState")));
      case "SetBootConfigRole":
        this.#armed = valueIn(body, "Role") === "1" && this.#takesBootOptions();
        this.#decideBoot();
        return output(action, 0);
      case "ChangeBootOrder": {
        const source = selectorIn(body, "InstanceID");
        if (source !== undefined && !SOURCES.includes(source)) return output(action, 5);
        // A source and these options exclude each other.
        if (source !== undefined && this.settings["UseIDER"] === "true") return output(action, 2);
        this.#source = this.#takesBootOptions() && !this.#options.forgetsBootOrder ? source : undefined;
        this.#decideBoot();
        return output(action, 0);
      }
      default:
        return fault("ActionNotSupported", "The action is not supported by the service.");
    }
  }

  /** The instances of a class; undefined when the device does not have it. */
  #instances(resource: string): readonly Fields[] | undefined {
    const { power } = this.machine;
    switch (resource) {
      case "CIM_AssociatedPowerManagementService": {
        const system = { of: "CIM_ComputerSystem", keys: { Name: "ManagedSystem" } };
        const fields = { AvailableRequestedPowerStates: this.#available(), PowerState: STATES[power] };
        return [{ ...fields, RequestedPowerState: 2, UserOfService: system }];
      }
      case "IPS_OptInService": {
        const { consent = "none" } = this.#options;
        if (consent === "unknown-to-it") return undefined;
        const required = consent === "none" ? 0 : 4_294_967_295;
        return [{ OptInRequired: required, OptInState: consent === "given" ? 3 : 0 }];
      }
      case "AMT_BootSettingData":
        return [this.settings];
      case "CIM_ElementSettingData": {
        const system = { of: "CIM_ComputerSystem", keys: { Name: "ManagedSystem" } };
        const other = { of: "AMT_GeneralSettings", keys: { InstanceID: "Intel(r) AMT: General Settings" } };
        const boot = { of: "CIM_BootConfigSetting", keys: { InstanceID: CONFIGURATION } };
        return [
          { IsCurrent: 1, IsNext: 1, ManagedElement: system, SettingData: other },
          { IsCurrent: 2, IsNext: 2, ManagedElement: system, SettingData: other },
          { IsCurrent: 2, IsNext: this.#armed ? 3 : 2, ManagedElement: system, SettingData: boot },
        ];
      }
      case "CIM_OrderedComponent":
        return SOURCES.map((source) => ({
          AssignedSequence: source === this.#source ? 1 : 0,
          GroupComponent: { of: "CIM_BootConfigSetting", keys: { InstanceID: CONFIGURATION } },
          PartComponent: { of: "CIM_BootSourceSetting", keys: { InstanceID: source } },
        }));
      default:
        return undefined;
    }
  }

  #available(): readonly number[] {
    if (this.machine.power === "off") return [2];
    return this.#options.agent === false ? [10, 8, 5, 11] : [10, 8, 5, 11, 12, 14];
  }

  #changePower(request: number): Reply {
    const action = REQUESTS[request];
    const offered = action !== undefined && this.#available().includes(request);
    return output("RequestPowerStateChange", offered && this.machine.do(action) ? 0 : 2);
  }

  #putSettings(body: string): Reply {
    for (const readOnly of ["BIOSLastStatus", "OptionsCleared"]) {
      if (body.includes(`:${readOnly}>`)) return fault("InvalidRepresentation", "A property is read-only.");
    }
    for (const name of Object.keys(this.settings)) {
      if (body.includes(`:${name}>`)) this.settings[name] = valueIn(body, name);
    }
    return envelope(instance("AMT_BootSettingData", this.settings));
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

/** Starts a device; it listens when the promise resolves. */
export async function startAmtDevice(options: AmtDeviceOptions = {}): Promise<AmtDevice> {
  const device = new AmtDevice(options);
  await device.http.listen(options.port);
  return device;
}

const unreachable = () =>
  fault(
    "DestinationUnreachable",
    "No route can be determined to reach the destination role defined by the WSAddressing To.",
  );

const context = (from: number) => `<e:EnumerationContext>${from}</e:EnumerationContext>`;
const enumerated = (from: number) => `<e:EnumerateResponse>${context(from)}</e:EnumerateResponse>`;

/** The text of the first element of that name; read by pattern, so that it shares nothing with the client. */
function valueIn(body: string, name: string): string {
  return new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(body)?.[1] ?? "";
}

function selectorIn(body: string, name: string): string | undefined {
  return new RegExp(`<(?:\\w+:)?Selector Name="${name}">([^<]*)<`).exec(body)?.[1];
}
