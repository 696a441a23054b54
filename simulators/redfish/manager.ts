import { z } from "zod";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import type { ResourceRequest, ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

/** How long a BMC has been running when its simulation starts. */
const UPTIME_MS = 3_600_000;

/** A PNG with one pixel. */
export const SCREEN = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const NtpPatch = z.strictObject({
  NTP: z.strictObject({
    ProtocolEnabled: z.boolean().optional(),
    NTPServers: z.array(z.string()).optional(),
  }),
});
const AttributesPatch = z.strictObject({ Attributes: z.record(z.string(), z.string()) });

/** The BMC itself: its resource, its reset, its NTP settings and vendors' additions. */
export class SimulatedManager implements ResourceService {
  readonly path: string;
  readonly ntp: { enabled: boolean; servers: string[] } = { enabled: false, servers: [] };
  /** The reset types that were carried out, with `(none)` for an empty body. */
  readonly resets: string[] = [];
  /** Called when a reset was carried out. */
  onReset: () => void = () => undefined;
  /** How far the BMC's clock is ahead, in milliseconds. */
  clockSkewMs = 0;
  /** When the BMC last started, in milliseconds since the epoch. Undefined if the resource does not show it. */
  startedMs: number | undefined;
  readonly #profile: RedfishProfile;

  constructor(path: string, profile: RedfishProfile) {
    this.path = path;
    this.#profile = profile;
    if (profile.managerReset.showsTime) this.startedMs = Date.now() - UPTIME_MS;
  }

  /** Called when the BMC has restarted. */
  restarted(): void {
    if (this.startedMs !== undefined) this.startedMs = Date.now();
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    const { managerReset, ntp, screenshot } = this.#profile;
    switch (path) {
      case this.path:
        return method === "GET" ? withTag(this.#resource(), this.#profile) : methodNotAllowed(method);
      case `${this.path}/Actions/Manager.Reset`:
        return method === "POST" ? this.#reset(body) : methodNotAllowed(method);
      case `${this.path}/ResetActionInfo`:
        return managerReset.listing === "action-info" ? ok(this.#resetInfo(path)) : notFound(path);
      case `${this.path}/NetworkProtocol`:
        return this.#networkProtocol({ method, path, body, ifMatch }, ntp !== "settings");
      case `${this.path}/NetworkProtocol/Settings`:
        return ntp === "settings"
          ? this.#networkProtocol({ method, path, body, ifMatch }, true)
          : notFound(path);
      case `${this.path}/Attributes`:
        return ntp === "dell-attributes" ? this.#attributes(method, path, body) : notFound(path);
      case `${this.path}/DateTime`:
        return ntp === "hpe-date-time" ? this.#dateTime(method, path, body) : notFound(path);
      case `${this.path}/Oem/Dell/DellLCService`:
        return screenshot ? ok(this.#lifecycleService(path)) : notFound(path);
      case `${this.path}/Oem/Dell/DellLCService/Actions/DellLCService.ExportServerScreenShot`:
        return screenshot && method === "POST"
          ? ok({ ServerScreenShotFile: SCREEN.toString("base64") })
          : notFound(path);
      default:
        return undefined;
    }
  }

  #resource(): Record<string, unknown> {
    const { managerReset, media, sel, screenshot, ntp, model, firmware } = this.#profile;
    const target = `${this.path}/Actions/Manager.Reset`;
    const listing = {
      resource: { "ResetType@Redfish.AllowableValues": managerReset.types },
      "action-info": { "@Redfish.ActionInfo": `${this.path}/ResetActionInfo` },
      none: {},
    }[managerReset.listing];
    const link = (name: string) => ({ "@odata.id": `${this.path}/${name}` });
    const oem = {
      ...(screenshot ? { DellLCService: link("Oem/Dell/DellLCService") } : {}),
      ...(ntp === "dell-attributes" ? { DellAttributes: [] } : {}),
    };
    return {
      "@odata.id": this.path,
      "@odata.type": "#Manager.v1_9_0.Manager",
      Id: this.path.split("/").at(-1),
      Name: "Manager",
      ManagerType: "BMC",
      Model: model,
      FirmwareVersion: firmware,
      UUID: "3a2b1c00-0000-4000-8000-00000000b3c0",
      // In whole seconds, so that two reads of an unchanged manager usually have the same entity tag.
      DateTime: this.#shown(Date.now()),
      DateTimeLocalOffset: "+00:00",
      ...(this.startedMs === undefined ? {} : { LastResetTime: this.#shown(this.startedMs) }),
      NetworkProtocol: link("NetworkProtocol"),
      ...(this.#profile.network === "none" ? {} : { EthernetInterfaces: link("EthernetInterfaces") }),
      ...(media.below === "manager" ? { VirtualMedia: link(media.name) } : {}),
      ...(sel.below === "manager" ? { LogServices: link("LogServices") } : {}),
      Actions: { "#Manager.Reset": { target, ...listing } },
      ...(Object.keys(oem).length > 0 ? { Links: { Oem: { Dell: oem } } } : {}),
      ...(ntp === "hpe-date-time" ? { Oem: { Hpe: { Links: { DateTimeService: link("DateTime") } } } } : {}),
    };
  }

  #shown(ms: number): string {
    return `${new Date(ms + this.clockSkewMs).toISOString().slice(0, 19)}+00:00`;
  }

  #reset(body: unknown): Answer {
    const { managerReset } = this.#profile;
    const parsed = z.strictObject({ ResetType: z.string().optional() }).safeParse(body);
    const type = parsed.success ? parsed.data.ResetType : undefined;
    if (!parsed.success || (managerReset.emptyBody && type !== undefined)) {
      const message = "The action Manager.Reset was submitted with the invalid parameter ResetType.";
      return refusal(400, "Base.1.8.ActionParameterUnknown", message);
    }
    if (!managerReset.emptyBody && (type === undefined || !managerReset.types.includes(type))) {
      return refusal(400, "Base.1.8.ActionParameterValueNotInList", `${type} is not in the list.`);
    }
    this.resets.push(type ?? "(none)");
    this.onReset();
    return noContent;
  }

  #resetInfo(path: string) {
    const { types } = this.#profile.managerReset;
    const Parameters = [{ Name: "ResetType", AllowableValues: types }];
    return resource(path, "ActionInfo", { Name: "Reset Action Info", Parameters });
  }

  #networkProtocol({ method, path, body, ifMatch }: ResourceRequest, writable: boolean): Answer {
    const { ntp } = this.#profile;
    const standard = ntp === "standard" || ntp === "settings";
    const settings = { SettingsObject: { "@odata.id": `${this.path}/NetworkProtocol/Settings` } };
    const current = resource(path, "ManagerNetworkProtocol", {
      Name: "Manager Network Protocol",
      HTTPS: { ProtocolEnabled: true, Port: 443, ...this.#certificates() },
      // Padded, as in BMCs with a fixed number of servers.
      ...(standard
        ? {
            NTP: { ProtocolEnabled: this.ntp.enabled, NTPServers: [...this.ntp.servers, "", ""].slice(0, 4) },
          }
        : {}),
      ...(ntp === "settings" && !writable ? { "@Redfish.Settings": settings } : {}),
    });
    if (method === "GET") return withTag(current, this.#profile);
    if (method !== "PATCH" || !standard) return methodNotAllowed(method);
    if (!writable) return refusal(400, "Base.1.8.PropertyNotWritable", "NTP is a read only property.");
    const refused = checkIfMatch(ifMatch, current, this.#profile);
    if (refused) return refused;
    const parsed = NtpPatch.safeParse(body);
    if (!parsed.success) return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    this.ntp.enabled = parsed.data.NTP.ProtocolEnabled ?? this.ntp.enabled;
    this.ntp.servers = parsed.data.NTP.NTPServers ?? this.ntp.servers;
    return noContent;
  }

  #certificates(): Record<string, unknown> {
    const { certificates } = this.#profile;
    if (certificates === "hpe" || certificates === "none") return {};
    return { Certificates: { "@odata.id": `${this.path}/NetworkProtocol/HTTPS/Certificates` } };
  }

  #dateTime(method: string, path: string, body: unknown): Answer {
    if (method === "GET") {
      const StaticNTPServers = [0, 1].map((index) => this.ntp.servers[index] ?? "");
      const ConfigurationSettings = this.ntp.enabled ? "SomePendingReset" : "Current";
      return ok({
        "@odata.id": path,
        "@odata.type": "#HpeiLODateTime.v2_0_0.HpeiLODateTime",
        Id: "DateTime",
        Name: "iLO DateTime",
        ConfigurationSettings,
        StaticNTPServers,
      });
    }
    if (method !== "PATCH") return methodNotAllowed(method);
    const parsed = z.strictObject({ StaticNTPServers: z.array(z.string()).length(2) }).safeParse(body);
    if (!parsed.success) return refusal(400, "iLO.2.14.UnsupportedOperation", "The property is invalid.");
    this.ntp.servers = parsed.data.StaticNTPServers.filter((server) => server !== "");
    this.ntp.enabled = this.ntp.servers.length > 0;
    return noContent;
  }

  #attributes(method: string, path: string, body: unknown): Answer {
    const group = "NTPConfigGroup.1";
    if (method === "GET") {
      const [first = "", second = "", third = ""] = this.ntp.servers;
      return ok({
        "@odata.id": path,
        Id: "Attributes",
        Attributes: {
          "IPv4.1.DHCPEnable": "Enabled",
          [`${group}.NTPEnable`]: this.ntp.enabled ? "Enabled" : "Disabled",
          [`${group}.NTP1`]: first,
          [`${group}.NTP2`]: second,
          [`${group}.NTP3`]: third,
        },
      });
    }
    const parsed = AttributesPatch.safeParse(body);
    if (method !== "PATCH" || !parsed.success) return methodNotAllowed(method);
    const { Attributes: given } = parsed.data;
    const { enabled, servers } = this.ntp;
    this.ntp.enabled = (given[`${group}.NTPEnable`] ?? (enabled ? "Enabled" : "Disabled")) === "Enabled";
    this.ntp.servers = [1, 2, 3]
      .map((n) => given[`${group}.NTP${n}`] ?? servers[n - 1] ?? "")
      .filter((server) => server !== "");
    return noContent;
  }

  #lifecycleService(path: string) {
    const name = "DellLCService.ExportServerScreenShot";
    const action = {
      target: `${path}/Actions/${name}`,
      "FileType@Redfish.AllowableValues": ["ServerScreenShot"],
    };
    return {
      "@odata.id": path,
      "@odata.type": "#DellLCService.v1_7_0.DellLCService",
      Id: "DellLCService",
      Name: "DellLCService",
      Actions: { [`#${name}`]: action },
    };
  }
}
