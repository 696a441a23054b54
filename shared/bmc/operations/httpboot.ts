import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { type BiosDrivers, nextBiosValues, planBiosValues, setBiosValues } from "./bios.ts";
import type { BiosAttributes } from "./bios-registry.ts";
import { ok } from "./finding.ts";
import { findHttpBootAttributes, type HttpBootRequest } from "./network-boot-attributes.ts";
import { writeSetting } from "./read-back.ts";

export interface HttpBootDriver {
  /** Reads the URI from which the firmware boots with HTTP; empty if it uses the DHCP server's. */
  read(signal: AbortSignal): Promise<string>;
  plan(uri: string, signal: AbortSignal): Promise<string>;
  write(uri: string, signal: AbortSignal): Promise<void>;
}

/** How a BMC takes the URI of HTTP boot: Redfish's `Boot.HttpBootUri`, or the vendor's BIOS attributes. */
export type HttpBootWay = "http-boot-uri" | "bios-attributes";

/** The result of setting the URI of HTTP boot. */
export interface HttpBootReport {
  /** The URI before the change; empty if the firmware uses the DHCP server's. */
  readonly before: string;
  /** The URI that was read back. */
  readonly after: string;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How the BMC takes the URI. */
  readonly way: HttpBootWay;
  /** The result in one line for display. */
  readonly summary: string;
}

/** The drivers: a provider with HTTP boot also has BIOS attributes, which vendors without a URI use instead. */
type HttpBootDrivers = BiosDrivers & { readonly httpboot: HttpBootDriver };
type HttpBootAccess = Access<HttpBootDrivers>;

export const httpBootOperations = defineOperations({
  title: "URI of UEFI HTTP boot",
  methods: (run: Run<HttpBootDrivers>) => ({
    /** Reads the URI of UEFI HTTP boot; empty if the firmware uses the DHCP server's. */
    getHttpBootUri: (signal: AbortSignal = neverAborted()): Promise<string> =>
      run(signal, async (access) => (await findWay(access, signal)).uri),

    /**
     * Sets the URI of UEFI HTTP boot and reads it back. `setBoot` selects the boot device. An empty URI leaves the choice to
     * DHCP. If the BMC takes no URI, the vendor's BIOS attributes are set, which take effect at the next boot.
     */
    setHttpBootUri: (
      request: HttpBootRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<HttpBootReport> => run(signal, (access) => setUri(access, request, signal)),

    /** Returns what `setHttpBootUri` would send. */
    planHttpBootUri: (
      request: HttpBootRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<string>> =>
      run(signal, async (access) => {
        const found = await findWay(access, signal);
        const { uri: before } = found;
        if (found.way === "bios-attributes") {
          const { steps } = await planBiosValues(access, biosRequest(found.values(request)), signal);
          return { before, steps };
        }
        checkOptions(request);
        const step = () => access.read(({ httpboot }) => httpboot.plan(request.uri, signal));
        return { before, steps: before === request.uri ? [] : [await step()] };
      }),
  }),
  check: async (access, signal) => {
    const { uri, way } = await findWay(access, signal);
    return ok(`${describeHttpBoot(uri)} (${BY[way]})`);
  },
});

const BY: Readonly<Record<HttpBootWay, string>> = {
  "http-boot-uri": "by HttpBootUri",
  "bios-attributes": "by BIOS attributes",
};

type FoundWay =
  | { readonly way: "http-boot-uri"; readonly uri: string }
  | {
      readonly way: "bios-attributes";
      readonly uri: string;
      readonly values: (request: HttpBootRequest) => BiosAttributes;
    };

/** Returns how this BMC takes the URI. Throws `unsupported` if it takes none. */
async function findWay(access: HttpBootAccess, signal: AbortSignal): Promise<FoundWay> {
  try {
    const uri = await access.read(({ httpboot }) => httpboot.read(signal));
    return { way: "http-boot-uri", uri };
  } catch (thrown) {
    if (BmcError.from(thrown).class !== "unsupported") throw thrown;
    const found = findHttpBootAttributes(await attributesOrNone(access, signal));
    if (!found) throw thrown;
    return { way: "bios-attributes", ...found };
  }
}

async function attributesOrNone(access: HttpBootAccess, signal: AbortSignal): Promise<BiosAttributes> {
  try {
    return await nextBiosValues(access, signal);
  } catch (thrown) {
    if (BmcError.from(thrown).class !== "unsupported") throw thrown;
    return {};
  }
}

/** Refuses options of BIOS attributes, because `Boot.HttpBootUri` has no interface and no TLS mode. */
function checkOptions({ interface: nic, verifiesServer = true }: HttpBootRequest): void {
  if (nic !== undefined) {
    throw new BmcError("unsupported", "the BMC does not select the network interface of HTTP boot");
  }
  if (!verifiesServer) {
    throw new BmcError("unsupported", "the BMC does not select whether HTTP boot verifies the server");
  }
}

const biosRequest = (values: BiosAttributes) => ({ values, applyTime: "on-reset" }) as const;

async function setUri(
  access: HttpBootAccess,
  request: HttpBootRequest,
  signal: AbortSignal,
): Promise<HttpBootReport> {
  const { uri } = request;
  const found = await findWay(access, signal);
  if (found.way === "bios-attributes") {
    const { changed, summary } = await setBiosValues(access, biosRequest(found.values(request)), signal);
    const text = `${describeHttpBoot(uri)} ${BY[found.way]}: ${summary}`;
    return { before: found.uri, after: uri, changed, way: found.way, summary: text };
  }
  checkOptions(request);
  const { way, uri: before } = found;
  const what = `${describeHttpBoot(uri)} ${BY[way]}`;
  if (before === uri) return { before, after: uri, changed: false, way, summary: `already ${what}` };
  const { read, write, insist, sleep } = access;
  const after = await writeSetting(
    {
      read: () => read(({ httpboot }) => httpboot.read(signal)),
      write: (patience) => write(({ httpboot }) => httpboot.write(uri, signal), patience),
      insist,
      sleep,
    },
    { asked: describeHttpBoot(uri), isSet: (state) => state === uri, describe: describeHttpBoot },
  );
  return { before, after, changed: true, way, summary: what };
}

/** Describes the setting: `HTTP boot from https://192.0.2.1/boot.efi`. */
export function describeHttpBoot(uri: string): string {
  return `HTTP boot from ${uri === "" ? "the DHCP server's URI" : uri}`;
}
