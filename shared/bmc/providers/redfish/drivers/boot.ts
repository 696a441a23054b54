import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import type { BootDriver, BootOverride, BootRequest, BootSight } from "../../../operations/boot-port.ts";
import type { ManagedManager } from "../resources/managed-manager.ts";
import type { Members } from "../resources/members.ts";
import { powerState, type Resources } from "../resources/resources.ts";
import { settingsPathOf } from "../resources/settings-place.ts";
import type { ManagedSystem } from "../resources/system.ts";
import { stateOfWord } from "../resources/task-state.ts";
import type { Writer } from "../resources/writer.ts";
import { FUTURE_STATE } from "../service/behaviour-quirks.ts";
import { type Boot, BootSettings, lenient } from "../service/schema.ts";
import { type BootFields, bootFields, bootOverride, hasOverride, holds } from "./boot-fields.ts";
import { type BootAttempt, BootLadder } from "./boot-ladder.ts";
import { bootProgress } from "./boot-progress.ts";
import { postCodeProgress } from "./post-codes.ts";

/** The resource that accepts the override, with its last known tag. */
interface BootOwner {
  readonly path: string;
  readonly etag: string | undefined;
}

/** The settings resource of the system, and whether it accepts the override; undefined until it was read. */
export interface SettingsHint {
  readonly path: string;
  readonly takesOverride?: boolean | undefined;
}

export class RedfishBoot implements BootDriver {
  readonly #system: ManagedSystem;
  readonly #manager: ManagedManager;
  readonly #members: Members;
  readonly #writer: Writer;
  readonly #log: Logger;
  #looked: SettingsHint | undefined;
  #written = false;
  /** The last request that the BMC accepted. */
  #accepted: BootRequest | undefined;
  /** The task or job of the last accepted write. */
  #task: string | undefined;

  constructor(
    {
      system,
      manager,
      members,
      writer,
      log,
    }: Pick<Resources, "system" | "manager" | "members" | "writer" | "log">,
    settings: SettingsHint | undefined,
  ) {
    this.#system = system;
    this.#manager = manager;
    this.#members = members;
    this.#writer = writer;
    this.#log = log;
    this.#looked = settings;
  }

  get settings(): SettingsHint | undefined {
    const path = this.#settingsPath();
    if (path === undefined) return undefined;
    const takesOverride = this.#settingsTakeOverride(path);
    return takesOverride === undefined ? { path } : { path, takesOverride };
  }

  get keepsOverrides(): boolean {
    return this.#system.behaviour.once === "persistent";
  }

  async read(signal: AbortSignal): Promise<BootOverride> {
    await this.#system.read(signal);
    const boot = await this.#boot(signal);
    // A BMC that accepted a write offers the override, even if it shows nothing now.
    if (!hasOverride(boot) && !this.#written) throw noOverride();
    return this.#accepted ? afterWrite(this.#accepted, boot ?? {}) : bootOverride(boot ?? {});
  }

  /** Before version 6.00, iDRAC's `Cd` means the drive in the machine (openstack/ironic, drac/boot.py). */
  async note({ device }: BootRequest, signal: AbortSignal): Promise<string | undefined> {
    if (device !== "cdrom" || !/^dell\b/i.test(this.#system.identity.manufacturer)) return undefined;
    const { value } = await this.#manager.seen(signal);
    const major = Number(/^(\d+)\./.exec(value.FirmwareVersion ?? "")?.[1] ?? Number.NaN);
    const isOld = major < 6;
    return isOld
      ? `iDRAC ${value.FirmwareVersion} boots the drive in the machine so, not its virtual media`
      : undefined;
  }

  async waiting(signal: AbortSignal): Promise<string | undefined> {
    if (this.#task === undefined) return undefined;
    const found = await this.#system.service.find(this.#task, WaitingTask, signal);
    const { TaskState: task, JobState: job } = found?.value ?? {};
    const state = task ?? job ?? "";
    return stateOfWord(state) === "staged" ? `${this.#task} (${state})` : undefined;
  }

  /** The override of the system; if it has none, that of its settings resource (iDRAC10 and others). */
  async #boot(signal: AbortSignal): Promise<Boot | undefined> {
    const { service, last } = this.#system;
    const path = this.#settingsPath();
    if (hasOverride(last.value.Boot) || path === undefined) return last.value.Boot;
    const settings = await service.find(path, BootSettings, signal);
    return hasOverride(settings?.value.Boot) ? settings.value.Boot : last.value.Boot;
  }

  async see(postCodes: boolean, signal: AbortSignal): Promise<BootSight> {
    const { value } = await this.#system.read(signal);
    const progress = postCodes
      ? await postCodeProgress(this.#system.service, this.#members, value, signal)
      : bootProgress(value);
    const override = hasOverride(value.Boot) ? bootOverride(value.Boot) : undefined;
    return { power: powerState(value.PowerState), ...defined({ override, progress }) };
  }

  async plan(request: BootRequest, signal: AbortSignal): Promise<string> {
    const fields = await this.#fields(request, signal);
    const { path } = await this.#owner(signal);
    return `PATCH ${path} ${JSON.stringify({ Boot: fields })}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    await this.#system.confirm(signal);
    let attempt = await this.#draft(request, signal);
    this.#written = true;
    this.#accepted = undefined;
    this.#task = undefined;
    const { behaviour } = this.#system;
    let ladder = new BootLadder(this.#system, this.#log);
    for (;;) {
      const refusal = await this.#attempt(attempt, signal);
      if (!refusal) {
        ladder.climbed();
        this.#accepted = request;
        this.#keepPlace(attempt.path);
        const next = await this.#afterGuess(request, attempt, signal);
        if (next === undefined) return;
        attempt = next;
        continue;
      }
      const { error, answer } = refusal;
      // Refused credentials, "not now" and a lost answer do not improve with another form of the request.
      if (error.class === "auth" || error.class === "busy" || error.uncertain) throw error;
      if (await this.#system.refresh(signal)) {
        if (holds(request, bootOverride(this.#system.last.value.Boot ?? {}))) return;
        const seen = await this.#draft(request, signal);
        if (!isSame(seen, attempt)) {
          attempt = seen;
          ladder = new BootLadder(this.#system, this.#log);
          continue;
        }
      }
      if (behaviour.readBack === "each-refusal" && (await this.#holds(request, signal))) return;
      const next = await ladder.next(attempt, answer, request, signal);
      if (next === undefined) {
        if (behaviour.readBack === "before-failing" && (await this.#holds(request, signal))) return;
        throw error;
      }
      attempt = next;
    }
  }

  #keepPlace(path: string): void {
    if (path.endsWith(FUTURE_STATE.suffix)) return;
    const known = this.#settingsPath();
    if (path !== this.#system.path) this.#looked = { path, takesOverride: true };
    else if (known !== undefined) this.#looked = { path: known, takesOverride: false };
  }

  async #draft(request: BootRequest, signal: AbortSignal): Promise<BootAttempt> {
    const fields = await this.#fields(request, signal);
    const { path, etag } = await this.#owner(signal);
    return { path, fields, etag: this.#system.behaviour.ifMatch === "first" ? etag : undefined };
  }

  /** The fields to send. A hint is sufficient if a wrong guess can only be refused; otherwise the system is read. */
  async #fields(request: BootRequest, signal: AbortSignal): Promise<BootFields> {
    if (this.#system.isRemembered && !this.#memoryWillDo(request)) await this.#system.refresh(signal);
    try {
      const boot = await this.#boot(signal);
      if (!hasOverride(boot)) throw noOverride();
      return bootFields(request, boot, this.#system.behaviour);
    } catch (error) {
      if (!(await this.#system.refresh(signal))) throw error;
      return await this.#fields(request, signal);
    }
  }

  #memoryWillDo({ mode }: BootRequest): boolean {
    const { behaviour, last } = this.#system;
    const { Boot: boot } = last.value;
    // A required tag must be read anyway.
    if (!boot || behaviour.ifMatch === "first") return false;
    if (behaviour.sendMode === "always") return mode !== "keep";
    return mode === "keep" || !isDifferent(mode, bootOverride(boot));
  }

  /**
   * Verifies a mode that was omitted because of a hint. The read-back that follows every write is made here, where another
   * mode can still be corrected, and serves the next `read`.
   */
  async #afterGuess(
    request: BootRequest,
    { fields }: BootAttempt,
    signal: AbortSignal,
  ): Promise<BootAttempt | undefined> {
    const guessed = request.mode !== "keep" && fields.BootSourceOverrideMode === undefined;
    if (!guessed || !(await this.#system.refresh(signal))) return undefined;
    const stored = bootOverride(this.#system.last.value.Boot ?? {});
    return isDifferent(request.mode, stored) ? await this.#draft(request, signal) : undefined;
  }

  async #attempt(attempt: BootAttempt, signal: AbortSignal) {
    const { service } = this.#system;
    this.#system.markChanged();
    const request = {
      method: "PATCH",
      path: attempt.path,
      body: { Boot: attempt.fields },
      ...(attempt.etag === undefined ? {} : { headers: { "if-match": attempt.etag } }),
    } as const;
    const answer = await service.send(request, signal);
    if (answer.status >= 300) return { error: service.refusal(answer, request), answer };
    this.#task = (await this.#writer.follow(answer, request, signal))?.name;
    return undefined;
  }

  /**
   * The place of the override: the settings resource if it contains the override's target itself (DSP0266 section 9.10;
   * sushy decides in the same way), otherwise the system.
   */
  async #owner(signal: AbortSignal): Promise<BootOwner> {
    const { service, last, path, behaviour } = this.#system;
    if (behaviour.bootOwner === "future-state") return await this.#futureState(signal);
    const settingsPath = this.#settingsPath();
    if (settingsPath === undefined || this.#settingsTakeOverride(settingsPath) === false)
      return { path, etag: last.etag };
    if (this.#settingsTakeOverride(settingsPath) === true && behaviour.ifMatch === "on-demand")
      return { path: settingsPath, etag: undefined };
    const settings = await service.find(settingsPath, BootSettings, signal);
    const waiting = settings?.value.Boot;
    const isOnlyHere = !hasOverride(last.value.Boot) && hasOverride(waiting);
    const hasTarget = waiting?.BootSourceOverrideTarget !== undefined || isOnlyHere;
    const takesOverride = settings !== undefined && (behaviour.bootOwner === "settings" || hasTarget);
    this.#looked = { path: settingsPath, takesOverride };
    return takesOverride ? { path: settingsPath, etag: settings?.etag } : { path, etag: last.etag };
  }

  async #futureState(signal: AbortSignal): Promise<BootOwner> {
    const { service, behaviour } = this.#system;
    const path = `${this.#system.path}${FUTURE_STATE.suffix}`;
    if (behaviour.ifMatch === "on-demand") return { path, etag: undefined };
    return { path, etag: (await service.find(path, BootSettings, signal))?.etag };
  }

  #settingsPath(): string | undefined {
    const { service, last } = this.#system;
    const learned = this.#looked?.takesOverride ? this.#looked.path : undefined;
    return settingsPathOf(service, last) ?? learned;
  }

  #settingsTakeOverride(path: string): boolean | undefined {
    return this.#looked?.path === path ? this.#looked.takesOverride : undefined;
  }

  /** Some BMCs refuse a write and apply it anyway, so a refusal counts only if the system confirms it. */
  async #holds(request: BootRequest, signal: AbortSignal): Promise<boolean> {
    try {
      return holds(request, await this.read(signal));
    } catch (error) {
      signal.throwIfAborted();
      this.#log.debug({ reason: BmcError.from(error).message }, "boot override readback failed");
      return false;
    }
  }
}

/**
 * The override after an accepted write. In UEFI mode some BMCs keep a device as the boot option that they selected for it,
 * and show `UefiBootNext` (Supermicro; NVIDIA/libredfish, src/supermicro.rs).
 */
function afterWrite({ device }: BootRequest, boot: Boot): BootOverride {
  const shown = bootOverride(boot);
  const target = boot.BootSourceOverrideTarget;
  const isChosen = shown.device === "unknown" && target === "UefiBootNext" && shown.mode !== "legacy";
  if (isChosen && device !== "none") return { ...shown, device, shownAs: target };
  return shown.device === "cdrom" && target === "UsbCd" ? { ...shown, shownAs: target } : shown;
}

const WaitingTask = z.object({ TaskState: lenient(z.string()), JobState: lenient(z.string()) });

function isDifferent(asked: BootRequest["mode"], { mode }: BootOverride): boolean {
  return asked !== "keep" && mode !== undefined && mode !== asked;
}

function isSame(a: BootAttempt, b: BootAttempt): boolean {
  return a.path === b.path && a.etag === b.etag && JSON.stringify(a.fields) === JSON.stringify(b.fields);
}

function noOverride(): BmcError {
  return new BmcError("unsupported", "the BMC offers no boot override");
}
