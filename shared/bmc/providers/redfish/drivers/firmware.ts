import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import {
  type FirmwareApplyTime,
  type FirmwareDriver,
  type FirmwareItem,
  type FirmwareSend,
  unreadFirmware,
} from "../../../operations/firmware-driver.ts";
import { differenceOf, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Resources } from "../resources/resources.ts";
import { asideOf } from "../resources/task.ts";
import { describeWrite, throwDenial, type WriteRequest } from "../resources/writer.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { missingProperties } from "../service/missing-properties.ts";
import { Link, lenient, Values } from "../service/schema.ts";
import { FirmwareResource, isInstalled, nameOf, text } from "./inventory-parts.ts";

const UPDATE_SERVICE = "/redfish/v1/UpdateService";
const MOST_ITEMS = 256;

const ApplyTimes = lenient(z.object({ SupportedValues: lenient(Values) }));

/** The used fields of UpdateService (DSP0268). */
const UpdateService = z.object({
  ServiceEnabled: lenient(z.boolean()),
  FirmwareInventory: lenient(Link),
  MaxImageSizeBytes: lenient(z.number()),
  MultipartHttpPushUri: lenient(z.string()),
  "MultipartHttpPushUri@Redfish.OperationApplyTimeSupport": ApplyTimes,
  HttpPushUri: lenient(z.string()),
  HttpPushUriTargets: lenient(z.array(z.string())),
  HttpPushUriTargetsBusy: lenient(z.boolean()),
  HttpPushUriOptions: lenient(
    z.object({ HttpPushUriApplyTime: lenient(z.object({ ApplyTime: lenient(z.string()) })) }),
  ),
  Actions: lenient(
    z.object({
      "#UpdateService.SimpleUpdate": lenient(
        z.object({
          target: lenient(z.string()),
          "TransferProtocol@Redfish.AllowableValues": lenient(Values),
          "@Redfish.OperationApplyTimeSupport": ApplyTimes,
        }),
      ),
    }),
  ),
  /** HPE's state of its current or last update. */
  Oem: lenient(z.record(z.string(), z.unknown())),
});
type UpdateService = z.infer<typeof UpdateService>;

/** Operation apply times (DSP0266). */
const APPLY_TIMES: Readonly<Record<FirmwareApplyTime, string>> = {
  immediate: "Immediate",
  "on-reset": "OnReset",
};

/** Apply times of HttpPushUri (DSP0268) other than `Immediate`. */
const LATER = /OnReset|Maintenance|OnStartUpdateRequest/;

/** Values of `State` (DSP8010, Resource) for an image that is not in use. */
const STANDBY = ["StandbySpare", "StandbyOffline"];
const UPDATING = ["Updating", "Starting", "InTest", "Deferring"];

function stateOf(state = ""): FirmwareItem["state"] {
  if (STANDBY.includes(state)) return "standby";
  return UPDATING.includes(state) ? "updating" : undefined;
}

/** The additional part that MegaRAC requires in a multipart push. */
interface OemParameters {
  readonly ImageType: string;
}

/** The kind of image that fits all of these inventory entries. */
function oemParametersFor(items: readonly Pick<FirmwareItem, "id" | "name">[]): OemParameters | undefined {
  const types = items.map(({ id, name }) => /bmc|bios/i.exec(id) ?? /bmc|bios/i.exec(name));
  const [type, ...others] = new Set(types.map((found) => found?.[0].toUpperCase()));
  return type === undefined || others.length > 0 ? undefined : { ImageType: type };
}

/** A request that starts an update; `form` and `raw` contain a file. */
interface Start {
  readonly kind: "simple" | "form" | "raw";
  readonly path: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The part that MegaRAC requires in addition to the parameters; undefined if the targets do not show it. */
  readonly oemParameters?: OemParameters | undefined;
  /** Set if the BMC applies a pushed image at a reset or later. */
  readonly staged?: true;
  /** A place where the BMC reports more than its task, with its earlier content. */
  readonly aside: ReturnType<typeof asideOf>;
  /** The requests before and after pushing a plain file to targets. */
  readonly reservation?: Reservation | undefined;
  /** The targets at their present places. */
  readonly chosen: readonly InventoryEntry[];
}

/** An entry of the firmware inventory. */
interface InventoryEntry {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly value: z.infer<typeof FirmwareResource>;
}

function entryOf(path: string, value: InventoryEntry["value"]): InventoryEntry {
  return { path, id: text(value.Id) ?? nameOf(path, {}), name: nameOf(path, value), value };
}

/** Whether an entry has neither a name nor a version, so that its program is unknown. */
function isBlank({ Name, Version }: InventoryEntry["value"]): boolean {
  return text(Name) === undefined && text(Version) === undefined;
}

/** Finds a target at its present place. If another program has its ID, it is the only one with its name. */
function entryFor(
  { id, name }: FirmwareSend["targets"][number],
  entries: readonly InventoryEntry[],
): InventoryEntry {
  const there = entries.find((entry) => entry.id === id);
  if (!there) throw new BmcError("state", `firmware ${id} cannot be read any more`);
  const [found, ...others] = there.name === name ? [there] : entries.filter((entry) => entry.name === name);
  if (found && others.length === 0) return found;
  throw new TargetMoved(`firmware ${id} (${name})`, there.path, `Name ${there.name}`);
}

/** Changes of the UpdateService (DSP0268, `HttpPushUriTargets`). The push of the next client must not go to our targets. */
interface Reservation {
  readonly take: TargetsChange;
  readonly release: TargetsChange;
}

type TargetsChange = WriteRequest & { readonly body: { readonly HttpPushUriTargets: readonly string[] } };

/** Time for the release, which also happens after a cancellation. */
const RELEASE_MS = 10_000;

function reservationOf(
  { HttpPushUriTargetsBusy: busy }: UpdateService,
  targets: readonly string[],
): Reservation {
  const change = (paths: readonly string[], isTaken: boolean): TargetsChange => ({
    method: "PATCH",
    path: UPDATE_SERVICE,
    body: {
      HttpPushUriTargets: paths,
      ...(busy === undefined ? {} : { HttpPushUriTargetsBusy: isTaken }),
    },
  });
  return { take: change(targets, true), release: change([], false) };
}

/** Updates through UpdateService: SimpleUpdate with a URI, multipart push, or push of a file (DSP0266, DSP0268, DSP2062). */
export function redfishFirmware({ system, members, tasks, writer, log }: Resources): FirmwareDriver {
  const { service } = system;
  const find = async (signal: AbortSignal): Promise<UpdateService> => {
    const found = await service.find(UPDATE_SERVICE, UpdateService, signal);
    if (!found) throw new BmcError("unsupported", "the BMC has no UpdateService");
    return found.value;
  };
  const inventory = async (update: UpdateService, signal: AbortSignal) => {
    const path = service.localPath(update.FirmwareInventory?.["@odata.id"]);
    const unread: Unread[] = [];
    const tell = (gap: Unread) => unread.push(gap);
    const limits = { members: MOST_ITEMS, requests: { left: MOST_ITEMS + 16 }, unread: tell };
    const found = path === undefined ? undefined : await members.read(path, FirmwareResource, signal, limits);
    if (!found) throw new BmcError("unsupported", "the BMC has no firmware inventory");
    const items: InventoryEntry[] = [];
    for (const { path, value } of found) {
      if (isBlank(value)) unread.push({ name: path, reason: "it has neither Name nor Version" });
      else if (isInstalled(value)) items.push(entryOf(path, value));
    }
    return { items, unread };
  };
  /** Throws `TargetMoved` for a target whose name has changed. */
  const confirm = async (entries: readonly InventoryEntry[], signal: AbortSignal) => {
    for (const { path, id, name } of entries) {
      const now = await service.find(path, FirmwareResource, signal);
      const difference = !now ? "nothing" : differenceOf({ Name: name }, { Name: nameOf(path, now.value) });
      if (difference !== undefined) throw new TargetMoved(`firmware ${id}`, path, difference);
    }
  };
  const start = async (send: FirmwareSend, signal: AbortSignal): Promise<Start> => {
    const update = await find(signal);
    if (update.ServiceEnabled === false) throw new BmcError("state", "the BMC's UpdateService is disabled");
    const { items } = send.targets.length === 0 ? { items: [] } : await inventory(update, signal);
    const chosen = send.targets.map((target) => entryFor(target, items));
    const way = "uri" in send.image ? simple(update, send.image.uri) : push(update, send);
    const path = service.localPath(way.uri);
    if (path === undefined) throw new BmcError("unsupported", `the BMC offers no ${way.what}`);
    const asked = send.applyTime && APPLY_TIMES[send.applyTime];
    if (asked !== undefined && way.applyTimes && !way.applyTimes.includes(asked)) {
      const offered = way.applyTimes.join(", ");
      throw new BmcError("unsupported", `the BMC does not offer apply time ${asked}, only ${offered}`);
    }
    const targets = chosen.length === 0 ? undefined : chosen.map((item) => item.path);
    const given = defined({ Targets: targets, "@Redfish.OperationApplyTime": asked });
    const oemParameters = oemParametersFor(chosen);
    const reservation = way.kind === "raw" && targets ? reservationOf(update, targets) : undefined;
    const aside = asideOf(UPDATE_SERVICE, { Oem: update.Oem });
    const parameters = { ...way.parameters, ...given };
    return { ...way, path, parameters, oemParameters, reservation, aside, chosen };
  };
  const upload = async (
    { kind, path, ...parts }: Start,
    send: FirmwareSend,
    timeoutMs: number,
    signal: AbortSignal,
  ) => {
    if ("uri" in send.image) return service.send({ method: "POST", path, body: parts.parameters }, signal);
    const { name, content } = send.image;
    const request = { method: "POST", path, timeoutMs } as const;
    const { Readable } = await import("node:stream");
    if (kind === "form") {
      const { headers, bytes } = multipart(parts, name, content);
      return service.upload({ ...request, headers, content: Readable.from(bytes) }, signal);
    }
    const headers = { "content-type": "application/octet-stream", "content-length": String(content.size) };
    return service.upload({ ...request, headers, content: Readable.fromWeb(content.stream()) }, signal);
  };
  /** Sends the first form, and the complete one if the refusal says that the vendor's part is missing. */
  const uploadParts = async (
    request: Start,
    send: FirmwareSend,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<HttpAnswer> => {
    const endsMs = system.clock.monotonicMs() + timeoutMs;
    const isComplete = system.behaviour.oemParameters === "first";
    const { oemParameters, ...standard } = request;
    const answer = await upload(isComplete ? request : standard, send, timeoutMs, signal);
    const mayLack = request.kind === "form" && (!isComplete || oemParameters === undefined);
    if (!mayLack || missingProperties(answer, ["OemParameters", "ImageType"]).length === 0) return answer;
    if (oemParameters === undefined) {
      const { class: errorClass, message } = service.refusal(answer, { method: "POST", path: request.path });
      const remedy = "name targets that are all the BMC or all the BIOS, which shows the image's type";
      throw new BmcError(errorClass, `${message}; ${remedy}`);
    }
    log.debug({ oemParameters }, "update refused, sending it with OemParameters");
    const leftMs = Math.max(1, endsMs - system.clock.monotonicMs());
    const completed = await upload(request, send, leftMs, signal);
    if (completed.status < 300) system.learn("oem-parameters");
    return completed;
  };
  /** Runs the push while the BMC has its targets, and removes them afterwards in any case. */
  const reserving = async (
    { take, release }: Reservation,
    push: () => Promise<HttpAnswer>,
    signal: AbortSignal,
  ) => {
    await writer.write(take, signal);
    try {
      const { HttpPushUriTargets: kept = [] } = await find(signal);
      const { HttpPushUriTargets: asked } = take.body;
      if (kept.toSorted().join() !== asked.toSorted().join()) {
        throw new BmcError(
          "verify",
          `the BMC does not keep the targets of the push, but ${kept.join(", ") || "none"}`,
        );
      }
      return await push();
    } finally {
      await writer.write(release, AbortSignal.timeout(RELEASE_MS)).catch((error: unknown) => {
        log.warn({ reason: BmcError.from(error).message }, "HttpPushUriTargets not released");
      });
    }
  };
  return {
    async list(signal) {
      const { items, unread } = await inventory(await find(signal), signal);
      const read = items.map(
        ({ id, name, value }): FirmwareItem => ({
          id,
          name,
          ...defined({
            version: text(value.Version),
            state: stateOf(value.Status?.State),
            updateable: value.Updateable,
          }),
          related: (value.RelatedItem ?? []).map((link) => link["@odata.id"]),
        }),
      );
      return [...read, ...unread.map(({ name, reason }) => unreadFirmware(name, reason))];
    },
    async plan(send, signal) {
      const { kind, path, parameters, oemParameters, reservation } = await start(send, signal);
      const before = reservation ? `${describeWrite(reservation.take)}, then ` : "";
      const isSent = kind === "form" && system.behaviour.oemParameters === "first" && oemParameters;
      const more = isSent ? ` and OemParameters ${JSON.stringify(oemParameters)}` : "";
      const file = "uri" in send.image ? "" : ` and ${send.image.content.size} bytes of ${send.image.name}`;
      return `${before}POST ${path}${kind === "raw" ? "" : ` ${JSON.stringify(parameters)}`}${more}${file}`;
    },
    async send(send, timeoutMs, signal) {
      const request = await sendToTarget(async () => {
        const found = await start(send, signal);
        await confirm(found.chosen, signal);
        return found;
      });
      system.markChanged();
      const push = () => uploadParts(request, send, timeoutMs, signal);
      const answer = await (request.reservation ? reserving(request.reservation, push, signal) : push());
      const sent = { method: "POST", path: request.path } as const;
      if (answer.status >= 300) throw service.refusal(answer, sent);
      throwDenial(answer, sent);
      writer.leaves(tasks.startedBy(answer, sent, request.aside));
      return request.staged === true;
    },
  };
}

function simple(update: UpdateService, uri: string) {
  const action = update.Actions?.["#UpdateService.SimpleUpdate"];
  const protocol = new URL(uri).protocol.slice(0, -1).toUpperCase();
  const offered = action?.["TransferProtocol@Redfish.AllowableValues"];
  if (offered && !offered.includes(protocol)) {
    throw new BmcError("unsupported", `the BMC does not fetch with ${protocol}, only ${offered.join(", ")}`);
  }
  return {
    kind: "simple",
    what: "update by URI (SimpleUpdate)",
    uri: action?.target,
    parameters: { ImageURI: uri, TransferProtocol: protocol },
    applyTimes: action?.["@Redfish.OperationApplyTimeSupport"]?.SupportedValues,
  } as const;
}

/** Selects the push: multipart if the BMC offers it, because only that supports targets and an apply time. */
function push(update: UpdateService, { image, targets, applyTime }: FirmwareSend) {
  const most = update.MaxImageSizeBytes;
  if ("content" in image && most !== undefined && most > 0 && image.content.size > most) {
    throw new BmcError("usage", `the file has ${image.content.size} bytes; the BMC takes ${most} at most`);
  }
  if (update.MultipartHttpPushUri !== undefined) {
    const applyTimes = update["MultipartHttpPushUri@Redfish.OperationApplyTimeSupport"]?.SupportedValues;
    const parameters = { Targets: [] };
    return {
      kind: "form",
      what: "multipart push",
      uri: update.MultipartHttpPushUri,
      parameters,
      applyTimes,
    } as const;
  }
  if (update.HttpPushUri !== undefined && applyTime !== undefined)
    throw new BmcError("unsupported", "the BMC accepts uploads only without an apply time (HttpPushUri)");
  if (update.HttpPushUri !== undefined && targets.length > 0) {
    if (update.HttpPushUriTargets === undefined)
      throw new BmcError("unsupported", "the BMC accepts uploads only without targets (HttpPushUri)");
    if (update.HttpPushUriTargetsBusy)
      throw new BmcError("busy", "another client has reserved the BMC's firmware push (HttpPushUriTargets)");
  }
  return {
    kind: "raw",
    what: "upload of files",
    uri: update.HttpPushUri,
    parameters: {},
    applyTimes: undefined,
    ...(LATER.test(update.HttpPushUriOptions?.HttpPushUriApplyTime?.ApplyTime ?? "")
      ? { staged: true as const }
      : {}),
  } as const;
}

/** Multipart HTTP push (DSP0266, RFC 7578): the parameters as JSON, then the file, which is read while it is sent. */
function multipart(
  { parameters, oemParameters }: Pick<Start, "parameters" | "oemParameters">,
  name: string,
  content: Blob,
) {
  const boundary = crypto.randomUUID();
  const part = (disposition: string, type: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: ${type}\r\n\r\n`;
  const fileName = name.replace(/["\r\n]/g, encodeURIComponent);
  const json = (name: string, value: object | undefined) =>
    value ? `${part(`name="${name}"`, "application/json")}${JSON.stringify(value)}\r\n` : "";
  const head = Buffer.from(
    json("UpdateParameters", parameters) +
      json("OemParameters", oemParameters) +
      part(`name="UpdateFile"; filename="${fileName}"`, "application/octet-stream"),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const bytes = async function* () {
    yield head;
    yield* content.stream();
    yield tail;
  };
  const headers = {
    "content-type": `multipart/form-data; boundary=${boundary}`,
    "content-length": String(head.length + content.size + tail.length),
  };
  return { headers, bytes: bytes() };
}
