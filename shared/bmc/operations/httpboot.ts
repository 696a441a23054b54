import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { changeSetting } from "./read-back.ts";

export interface HttpBootDriver {
  /** The URI that the firmware boots from with HTTP; empty if it takes the DHCP server's. */
  read(signal: AbortSignal): Promise<string>;
  plan(uri: string, signal: AbortSignal): Promise<string>;
  write(uri: string, signal: AbortSignal): Promise<void>;
}

/** Result of setting the URI of HTTP boot. */
export interface HttpBootReport {
  /** As read before; empty if the firmware takes the DHCP server's. */
  readonly before: string;
  /** As read back. */
  readonly after: string;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type HttpBootDrivers = { readonly httpboot: HttpBootDriver };

export const httpBootOperations = defineOperations({
  title: "URI of UEFI HTTP boot",
  methods: (run: Run<HttpBootDrivers>) => ({
    /** Reads the URI of UEFI HTTP boot; empty if the firmware takes the DHCP server's. */
    getHttpBootUri: (signal: AbortSignal): Promise<string> =>
      run(signal, ({ read }) => read(({ httpboot }) => httpboot.read(signal))),

    /** Sets the URI of UEFI HTTP boot and reads it back; the boot device is `setBoot`'s. Empty leaves it to DHCP. */
    setHttpBootUri: (uri: string, signal: AbortSignal): Promise<HttpBootReport> =>
      run(signal, (access) => setUri(access, uri, signal)),

    /** What `setHttpBootUri` would send. */
    planHttpBootUri: (uri: string, signal: AbortSignal): Promise<Plan<string>> =>
      run(signal, async ({ read }) => {
        const before = await read(({ httpboot }) => httpboot.read(signal));
        const step = () => read(({ httpboot }) => httpboot.plan(uri, signal));
        return { before, steps: before === uri ? [] : [await step()] };
      }),
  }),
  check: async ({ read }, signal) =>
    ok(describeHttpBoot(await read(({ httpboot }) => httpboot.read(signal)))),
});

/** Some BMCs answer the write before a read shows it. */
const READ_BACK_DELAYS_MS = [0, 500, 2_000] as const;

async function setUri(
  { read, write, insist, sleep }: Access<HttpBootDrivers>,
  uri: string,
  signal: AbortSignal,
): Promise<HttpBootReport> {
  const change = await changeSetting(
    READ_BACK_DELAYS_MS,
    {
      read: () => read(({ httpboot }) => httpboot.read(signal)),
      write: () => write(({ httpboot }) => httpboot.write(uri, signal)),
      insist,
      sleep,
    },
    { asked: describeHttpBoot(uri), isSet: (state) => state === uri, describe: describeHttpBoot },
  );
  return { ...change, summary: `${change.changed ? "" : "already "}${describeHttpBoot(uri)}` };
}

/** For people: `HTTP boot from https://192.0.2.1/boot.efi`. */
export function describeHttpBoot(uri: string): string {
  return `HTTP boot from ${uri === "" ? "the DHCP server's URI" : uri}`;
}
