import { lookup } from "node:dns/promises";
import { lstat, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { writeText } from "../../actions/harness/result/write-text.ts";
import { systemClock } from "../../shared/clock.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { count } from "../../shared/count.ts";
import { DATA_FORMATS, formatData, isDataFormat } from "../../shared/data-format.ts";
import { parseDurationMs } from "../../shared/duration.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { programLine } from "../../shared/printable.ts";
import { openProgressLines } from "../../shared/progress-lines.ts";
import { textOf } from "../../shared/text-of.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { mapLimited } from "../../worker/doctor/map-limited.ts";
import { NamespaceName } from "../../worker/document/kubernetes-values.ts";
import { inventoryText } from "../machines/select-machines.ts";
import { listenForStop } from "../stop-signal.ts";
import { endWithUsage } from "../usage-problem.ts";
import type { FoundBmc, Ports, Target } from "./bmc.ts";
import { type Candidate, readCandidates } from "./candidates.ts";
import { compose, FORMATS, type Format } from "./compose.ts";
import { readLeases } from "./leases.ts";
import { tryLogins } from "./login.ts";
import { type Discovered, discoveredFields, discoveredTable } from "./result.ts";
import { scan } from "./scan.ts";
import { searchSsdp } from "./ssdp.ts";
import { MOST_ADDRESSES, parseTargets } from "./targets.ts";

const COMMAND = "pbnj-worker discover";
const OUTPUTS = ["auto", "table", ...DATA_FORMATS, "rufio"];
const LOOKUP_TIMEOUT_MS = 10_000;
const SHORTEST_TIMEOUT_MS = 100;
const LONGEST_TIMEOUT_MS = 60_000;

export interface DiscoverFlags {
  readonly fromLeases?: readonly string[];
  readonly ssdp?: true;
  readonly credentials?: string;
  readonly attempts: string;
  readonly trustOnFirstUse?: true;
  readonly write?: string;
  readonly format: string;
  readonly namespace: string;
  readonly output: string;
  readonly rate: string;
  readonly concurrency: string;
  readonly timeout: string;
  readonly redfishPort: string;
  readonly ipmiPort: string;
  readonly amtPort: string;
  readonly amtTlsPort: string;
}

interface Checked {
  readonly hosts: readonly string[];
  readonly candidates: readonly Candidate[];
  readonly ports: Ports;
}

/** Looks for BMCs. Resolves to the exit code, or ends the process if the command line is wrong. */
export async function discover(
  words: readonly string[],
  flags: DiscoverFlags,
  unknown: readonly string[],
): Promise<number> {
  const stop = listenForStop();
  const problems = [...unknown];
  try {
    const checked = await check(words, flags, problems, stop.signal);
    if (problems.length > 0) endWithUsage(COMMAND, problems);
    return await run(checked, flags, stop.signal);
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    complain("cancelled, nothing was written");
    return exitCodeOf("cancelled", stop.by());
  }
}

async function run(
  { hosts, candidates, ports }: Checked,
  flags: DiscoverFlags,
  signal: AbortSignal,
): Promise<number> {
  const clock = systemClock;
  const lines = openProgressLines(process.stderr);
  const concurrency = Number(flags.concurrency);
  const timeoutMs = parseDurationMs(flags.timeout) ?? 0;
  const show = (text: string) => lines.show("discover", { text });
  let found: readonly FoundBmc[];
  let logins: Awaited<ReturnType<typeof tryLogins>> = [];
  try {
    if (flags.ssdp) show("searching with SSDP");
    const services = flags.ssdp ? await searchSsdp({ clock }, signal) : [];
    const targets = await distinctTargets(hosts, services, concurrency, signal);
    if (targets.length > MOST_ADDRESSES) {
      complain(`more than ${MOST_ADDRESSES} addresses: name fewer`);
      return exitCodeOf("usage");
    }
    const addresses = count(targets.length, "address", "addresses");
    show(`probing ${addresses}`);
    const onProgress = (probed: number, answered: number) =>
      lines.note("discover", `${probed} of ${addresses} probed, ${answered} found`);
    const scanning = { ports, rate: Number(flags.rate), concurrency, timeoutMs, clock, onProgress };
    found = await scan(targets, scanning, signal);
    if (flags.credentials !== undefined) {
      show(`trying credentials at ${count(found.length, "BMC")}`);
      const trustOnFirstUse = flags.trustOnFirstUse ?? false;
      const attempts = Number(flags.attempts);
      const options = { attempts, trustOnFirstUse, concurrency, timeoutMs, clock, lines };
      logins = await tryLogins(found, candidates, options, signal);
    }
  } finally {
    lines.clear();
  }
  const results = found.map((bmc, index): Discovered => {
    const login = logins[index];
    return login ? { ...bmc, login } : bmc;
  });
  await print(results, flags);
  return write(results, flags);
}

async function print(results: readonly Discovered[], flags: DiscoverFlags) {
  const { output, namespace, credentials, trustOnFirstUse = false } = flags;
  const isTable = output === "table" || (output === "auto" && process.stdout.isTTY);
  if (output === "rufio") {
    const { text, machines } = compose(results, { format: "objects", namespace, trustOnFirstUse });
    await writeText(process.stdout, text);
    const left = results.length - machines;
    if (left > 0) complain(`left out ${count(left, "BMC")} without accepted credentials`);
  } else if (!isTable) {
    const format = isDataFormat(output) ? output : "json";
    await writeText(process.stdout, await formatData(format, results.map(discoveredFields)));
  } else if (results.length > 0) await writeText(process.stdout, `${discoveredTable(results)}\n`);
  complain(`found ${count(results.length, "BMC")}`);
  const unverified = results.filter(
    ({ login, redfish, amt }) => login?.state === "skipped" && login.sameAs === undefined && (redfish ?? amt),
  );
  if (credentials !== undefined && !trustOnFirstUse && unverified.length > 0) {
    complain(
      `no credentials were sent to ${count(unverified.length, "BMC")} whose certificate no authority verifies: compare the ` +
        "fingerprints with those of the BMCs, then pass --trust-on-first-use",
    );
  }
}

async function write(results: readonly Discovered[], flags: DiscoverFlags): Promise<number> {
  const { write: path, namespace, trustOnFirstUse = false } = flags;
  if (path === undefined) return EXIT_OK;
  const format = flags.format as Format;
  const { text, machines } = compose(results, { format, namespace, trustOnFirstUse });
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (thrown) {
    complain(`cannot write ${path}: ${textOf(thrown)}`);
    return exitCodeOf("usage");
  }
  const left = results.length - machines;
  complain(`wrote ${count(machines, "machine")} to ${path}${left > 0 ? `, left out ${left}` : ""}`);
  return EXIT_OK;
}

/** Merges a host name and its address into one target. Names that cannot be resolved are reported and left out. */
async function distinctTargets(
  hosts: readonly string[],
  services: readonly Target[],
  concurrency: number,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const failed = (host: string) => {
    complain(`cannot resolve ${host}`);
    return undefined;
  };
  const addresses = await mapLimited(hosts, { mostAtATime: concurrency, work: addressOf, failed }, signal);
  const byAddress = new Map<string, Target>();
  for (const target of services) byAddress.set(target.host, target);
  for (const [index, host] of hosts.entries()) {
    const address = addresses[index];
    if (address !== undefined) byAddress.set(address, { ...byAddress.get(address), host });
  }
  return [...byAddress.values()];
}

/** Resolves a host name. Rejects if that fails. */
async function addressOf(host: string, signal: AbortSignal): Promise<string | undefined> {
  if (isIP(host) !== 0) return host;
  return (await withTimeout(LOOKUP_TIMEOUT_MS, signal, () => lookup(host))).address;
}

async function check(
  words: readonly string[],
  flags: DiscoverFlags,
  problems: string[],
  signal: AbortSignal,
): Promise<Checked> {
  const leases = (flags.fromLeases ?? []).flatMap((path) => leasesIn(path, problems));
  if (words.length === 0 && !flags.fromLeases && !flags.ssdp) {
    problems.push("name addresses, blocks or ranges, or use --from-leases or --ssdp");
  }
  const { hosts, problems: wrong } = parseTargets([...words, ...leases]);
  problems.push(...wrong);
  whole("--rate", flags.rate, 1, 10_000, problems);
  whole("--concurrency", flags.concurrency, 1, 1_000, problems);
  whole("--attempts", flags.attempts, 1, 100, problems);
  const timeoutMs = parseDurationMs(flags.timeout) ?? 0;
  if (timeoutMs < SHORTEST_TIMEOUT_MS || timeoutMs > LONGEST_TIMEOUT_MS) {
    problems.push("--timeout is not a duration from 100ms to 1m, such as 5s");
  }
  const ports = {
    redfish: whole("--redfish-port", flags.redfishPort, 1, 65_535, problems),
    ipmi: whole("--ipmi-port", flags.ipmiPort, 1, 65_535, problems),
    amt: whole("--amt-port", flags.amtPort, 1, 65_535, problems),
    amtTls: whole("--amt-tls-port", flags.amtTlsPort, 1, 65_535, problems),
  };
  oneOf("--output", flags.output, OUTPUTS, problems);
  oneOf("--format", flags.format, FORMATS, problems);
  if (!NamespaceName.safeParse(flags.namespace).success) {
    problems.push("--namespace is not a namespace, such as tink-system");
  }
  const { write: path, credentials } = flags;
  if (path !== undefined && (await lstat(path).catch(() => undefined))) {
    problems.push(`--write: ${path} exists, and is not overwritten: name another file`);
  }
  for (const flag of [
    ...(flags.format === "objects" ? ["--format objects"] : []),
    ...(flags.output === "rufio" ? ["--output rufio"] : []),
  ]) {
    if (credentials === undefined) {
      problems.push(`${flag} needs --credentials, because a Machine names a Secret`);
    }
  }
  if (flags.trustOnFirstUse && credentials === undefined && path === undefined) {
    problems.push("--trust-on-first-use has no meaning without --credentials or --write");
  }
  const candidates =
    credentials === undefined ? [] : await readCandidates(credentials, process.env, problems, signal);
  return { hosts, candidates, ports };
}

function leasesIn(path: string, problems: string[]): readonly string[] {
  const text = inventoryText(path, problems, "--from-leases");
  if (text === undefined) return [];
  const leases = readLeases(text);
  if (!leases) problems.push(`--from-leases: ${path} is not a leases file of ISC dhcpd, Kea or dnsmasq`);
  return leases ?? [];
}

function whole(flag: string, text: string, least: number, most: number, problems: string[]): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most))
    problems.push(`${flag} is not a whole number from ${least} to ${most}`);
  return number;
}

function oneOf(flag: string, text: string, known: readonly string[], problems: string[]): void {
  if (!known.includes(text))
    problems.push(`${flag} is not one of ${known.join(", ")}${suggestion(text, known)}`);
}

function complain(message: string): void {
  process.stderr.write(programLine(COMMAND, message));
}
