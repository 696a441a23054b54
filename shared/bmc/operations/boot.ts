import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import {
  type BootDriver,
  type BootOverride,
  type BootRequest,
  type BootSight,
  type BootTarget,
  describeOverride,
  describeRequest,
} from "./boot-port.ts";
import { type BootWaitReport, waitForBoot } from "./boot-wait.ts";
import { ok, unsupported } from "./finding.ts";
import type { PowerDriver } from "./power.ts";
import { awaitState, insisting, READ_BACK_MS, refusalOf, reported } from "./read-back.ts";

/** The result of setting a boot override. */
export interface BootReport {
  /** The override that was read back. Its device is `unknown` if the BMC cannot show it. */
  readonly after: BootOverride;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

type BootDrivers = { readonly boot: BootDriver; readonly power: PowerDriver };

export const bootOperations = defineOperations({
  title: "boot device",
  methods: (run: Run<BootDrivers>) => ({
    /** Reads the boot override. */
    getBoot: (signal: AbortSignal = neverAborted()): Promise<BootOverride> =>
      run(signal, async ({ read }) => reported("boot device", await read(({ boot }) => boot.read(signal)))),

    /** Sets the boot override and reads it back. `mode: keep` uses the connection's boot mode, if it has one. */
    setBoot: (request: BootRequest, signal: AbortSignal = neverAborted()): Promise<BootReport> =>
      run(signal, (access) => setBoot(portOf(access, signal), withMode(request, access))),

    /** Returns what `setBoot` would send. If an override is assumed, the present one is not read. */
    planBoot: (
      request: BootRequest,
      signal: AbortSignal = neverAborted(),
      assumed?: BootOverride,
    ): Promise<Plan<BootOverride>> =>
      run(signal, async (access) => {
        const { read } = access;
        const before = assumed ?? (await read(({ boot }) => boot.read(signal))) ?? UNREAD_OVERRIDE;
        const step = await read(({ boot }) => boot.plan(withMode(request, access), signal));
        return { before, steps: [step] };
      }),

    /**
     * Waits until the machine's boot has reached a stage or a POST code. A stage is shown by the boot's progress, or by the
     * use of a one-time override. Sends nothing.
     */
    waitForBoot: (
      target: BootTarget,
      timeoutMs: number,
      signal: AbortSignal = neverAborted(),
    ): Promise<BootWaitReport> =>
      run(signal, (access) =>
        waitForBoot({ ...access, ...sightOf(access, target, signal) }, target, timeoutMs),
      ),
  }),
  check: async ({ read }, signal) => {
    if (await read(async ({ boot }) => boot.ignored)) return unsupported("there is nothing to set");
    const override = await read(({ boot }) => boot.read(signal));
    return ok(override ? describeOverride(override) : "can be set, cannot be read back");
  },
});

/** The boot override operations of one machine, with retries. */
type BootPort = ReturnType<typeof portOf>;

function portOf({ log, read, write, insist, sleep }: Access<BootDrivers>, signal: AbortSignal) {
  return {
    ignored: () => read(async ({ boot }) => boot.ignored ?? false),
    keepsOverrides: () => read(async ({ boot }) => boot.keepsOverrides ?? false),
    read: () => read(({ boot }) => boot.read(signal)),
    note: (request: BootRequest) => read(async ({ boot }) => boot.note?.(request, signal)),
    waiting: () => read(async ({ boot }) => boot.waiting?.(signal)),
    write: (request: BootRequest) => {
      const isDone = async () => {
        const stored = await read(({ boot }) => boot.read(signal));
        return stored !== undefined && matches(request, stored);
      };
      return write(
        async ({ boot, provider }) => {
          await boot.write(request, signal);
          log.debug({ ...request, provider }, "boot override sent");
        },
        { isDone },
      );
    },
    insist,
    sleep,
  };
}

function sightOf({ read, look }: Access<BootDrivers>, target: BootTarget, signal: AbortSignal) {
  const postCodes = "postCode" in target;
  return {
    keepsOverrides: () => read(async ({ boot }) => boot.keepsOverrides ?? false),
    see: () =>
      look(async ({ boot, power }): Promise<BootSight> => {
        if (boot.see) return boot.see(postCodes, signal);
        if (postCodes) throw new BmcError("unsupported", "POST codes cannot be read");
        const override = boot.ignored ? undefined : await boot.read(signal);
        return { power: await power.read(signal), ...(override && { override }) };
      }),
  };
}

function withMode(
  request: BootRequest,
  { connection }: Pick<Access<BootDrivers>, "connection">,
): BootRequest {
  return request.mode === "keep" ? { ...request, mode: connection.bootMode } : request;
}

export const UNREAD_OVERRIDE: BootOverride = { device: "unknown" };

/**
 * Sets the override and reads it back. The BMC's answer to the write does not decide: some BMCs apply it and answer 400,
 * some answer 200 and store something else (bmclib issue 459).
 */
async function setBoot(port: BootPort, request: BootRequest): Promise<BootReport> {
  const asked = `boot ${describeRequest(request)}`;
  if (await port.ignored()) {
    return { after: UNREAD_OVERRIDE, changed: false, summary: `${asked} ignored, there is nothing to set` };
  }
  const readBack = () =>
    awaitState(READ_BACK_MS.setting, port, port.read, (stored) => !stored || matches(request, stored));
  let refusal = await refusalOf(() => port.write(request));
  let stored = await readBack();
  if (!refusal) {
    const isDone = (state: BootOverride | undefined) => !state || matches(request, state);
    stored = await insisting(port, stored, isDone, async () => {
      const again = await refusalOf(() => port.write(request));
      if (again) throw again;
      return readBack();
    });
  }
  for (let again = 1; refusal && !matches(request, stored); again += 1) {
    if (!refusal.uncertain || again > (refusal.class === "timeout" ? 2 : 1)) throw refusal;
    // The answer was lost and apparently also the write. Writing the same override again is harmless.
    refusal = await refusalOf(() => port.write(request));
    stored = await readBack();
  }
  if (!stored) {
    return { after: UNREAD_OVERRIDE, changed: true, summary: `${asked} accepted, cannot be read back` };
  }
  const isKept = !request.persistent && matches({ ...request, persistent: true }, stored);
  if (isKept && (await port.keepsOverrides())) {
    const summary = `boot ${describeOverride(stored)}: the BMC keeps one-time overrides`;
    return { after: stored, changed: true, summary };
  }
  if (matches(request, stored)) {
    // A note that cannot be read is not a failure.
    const note = await port.note(request).catch(() => undefined);
    const summary = `boot ${describeOverride(stored)}${note === undefined ? "" : `; ${note}`}`;
    return { after: stored, changed: true, summary };
  }
  const waits = matches({ ...request, mode: "keep" }, stored) ? await port.waiting() : undefined;
  if (waits !== undefined) {
    const summary = `boot ${describeOverride(stored)}; mode ${request.mode} waits for the next boot in ${waits}`;
    return { after: stored, changed: true, summary };
  }
  throw new BmcError(
    "verify",
    `asked for ${describeRequest(request)}, the BMC keeps ${describeOverride(stored)}`,
  );
}

/** Whether the stored device is the requested one. A BMC without its own diagnostics selects its utilities instead. */
function isDevice(stored: BootOverride["device"], asked: BootRequest["device"]): boolean {
  return stored === asked || (asked === "diag" && stored === "utilities");
}

/** Whether what the BMC reports is what was requested. A field that it does not report counts as matching. */
export function matches(request: BootRequest, stored: BootOverride | undefined): boolean {
  if (!stored || !isDevice(stored.device, request.device)) return false;
  if (request.device === "none") return true;
  if (stored.persistent !== undefined && stored.persistent !== request.persistent) return false;
  return request.mode === "keep" || stored.mode === undefined || stored.mode === request.mode;
}
