import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordBmc } from "../../../shared/bmc/recording/record-bmc.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { Anonymiser } from "../../../shared/recording/anonymise.ts";
import { parseRecording, recordingText } from "../../../shared/recording/recording.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { type AmtDeviceOptions, startAmtDevice } from "../../../simulators/amt/device.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf } from "../../actions/action-run.ts";
import type { TestedProvider } from "../../actions/lab.ts";
import { CERTIFICATE } from "../../actions/sample-input.ts";
import { findSubjects, type Subject } from "../../actions/subject.ts";
import { AWAY_MS, CANARY, subjectLab } from "../../actions/subject-lab.ts";
import { comparable } from "./comparable.ts";

const subjects = await findSubjects();
/** A power supply that failed, of the sensor 9. */
const EVENT = Buffer.from("01000200a1b26520000408096f01ffff", "hex");
const QUICK = { powerOnMs: 10, powerOffMs: 10, softOffMs: 10, cycleOffMs: 1_000 };

/** An iDRAC with what its owner would not show. */
async function originalLab(subject: Subject) {
  const lab = await subjectLab(subject, { redfish: { profile: "dell-idrac9" } });
  lab.redfish.sel.add("Critical", "The power supply 1 has failed", "2026-01-02T03:04:05Z");
  lab.machine.resetCause = "WatchdogExpiration";
  // Not the network of the actions' examples.
  lab.machine.network = {
    ...lab.machine.network,
    address: "10.20.30.11",
    gateway: "10.20.30.1",
    hostName: "idrac-q7",
  };
  return lab;
}

/** Everything that was replaced, by what it was. */
function replacements(
  original: unknown,
  shown: unknown,
  found = new Map<string, string>(),
): Map<string, string> {
  if (typeof original === "string" && typeof shown === "string" && original !== shown)
    found.set(original, shown);
  if (typeof original !== "object" || typeof shown !== "object" || !original || !shown) return found;
  for (const [name, value] of Object.entries(original)) {
    replacements(value, (shown as Record<string, unknown>)[name], found);
  }
  return found;
}

/** Recordings of labs that are alike: most of a run's time is taken by recording. */
const recordings = new Map<string, ReturnType<typeof record>>();

function recordOnce(
  lab: Awaited<ReturnType<typeof originalLab>>,
  subject: Subject,
  provider: TestedProvider,
) {
  const { name, power, needed, reference } = subject;
  const user = reference.environment["USER_NAME"];
  const differs = lab.redfish.certificate || user !== undefined || needed.includes("console") ? name : "";
  const key = JSON.stringify([provider, power, differs]);
  const recorded = recordings.get(key) ?? record(lab, provider);
  recordings.set(key, recorded);
  return recorded;
}

async function record(
  { connection, redfish }: Awaited<ReturnType<typeof originalLab>>,
  ...providers: TestedProvider[]
) {
  const { fingerprint } = redfish.certificate ? redfish : { fingerprint: undefined };
  return await recordAt({
    ...connection(...providers),
    ...(fingerprint === undefined ? {} : { tls: { fingerprint } }),
  });
}

async function recordAt(connection: Readonly<Record<string, unknown>>) {
  const given = Connection.parse({ ...connection, password: CANARY });
  const limits = { requests: 1_000, bytes: 10_000_000, ms: 60_000 };
  const signal = AbortSignal.timeout(60_000);
  const reading = await recordBmc(given, { limits, log: silentLogger, signal, progress: () => undefined });
  const anonymiser = new Anonymiser(redactor({ connection: given }));
  // Parse it again, as from a file.
  const recording = parseRecording(Buffer.from(recordingText(reading.anonymous(anonymiser, given))));
  const { ipmi } = reading;
  const originals = {
    tree: Object.fromEntries(reading.tree?.resources ?? []),
    users: ipmi?.users,
    network: ipmi?.networks[0],
    fru: ipmi && {
      serial: ipmi.hardware?.system.serial,
      boardSerial: ipmi.hardware?.mainboard?.serial,
      chassisSerial: ipmi.hardware?.chassis?.serial,
    },
  };
  const replaced = [...replacements(originals, { tree: recording.resources, ...recording.ipmi })];
  const shown = (text: string) => {
    const [one] = replaced.filter(([original]) => original.toLowerCase() === text.toLowerCase());
    if (one) return text === one[0] ? one[1] : one[1].toLowerCase();
    return text.replace(
      /[\w.:-]*\w/g,
      (word) => replaced.find(([original]) => original === word)?.[1] ?? word,
    );
  };
  return { recording, shown };
}

describe.concurrent("a recording of an iDRAC that the command has made gives the same result for", () => {
  it.each(subjects)("$name", { timeout: 120_000 }, async (subject) => {
    await using lab = await originalLab(subject);
    const { recording, shown } = await recordOnce(lab, subject, "redfish");
    await using replayed = await startRecording(recording, {
      password: CANARY,
      tls: lab.redfish.certificate ?? "http",
      machine: { ...QUICK, power: subject.power },
      restartMs: AWAY_MS,
    });
    const { redfish, username, sshHostKey } = replayed;
    redfish.certificates.key = CERTIFICATE.key;

    for (const machine of [lab.machine, replayed.machine])
      machine.print("iPXE initialising devices...ok\r\n");
    const before = await readdir(lab.folder);
    const expected = resultOf(await lab.start(["redfish"]).ended);
    for (const file of await readdir(lab.folder)) {
      if (!before.includes(file)) await rm(join(lab.folder, file));
    }
    const env = { REDFISH_PORT: String(redfish.port), BMC_USERNAME: username };
    const console = sshHostKey === undefined ? {} : { REDFISH_SSH_HOST_KEY: sshHostKey };
    const found = resultOf(await lab.start(["redfish"], { ...env, ...console }).ended);

    expect(comparable(found)).toEqual(comparable(expected, shown));
  });
});

describe.concurrent("a recording of a BMC with IPMI gives the same result for", () => {
  const able = subjects.filter(({ able: providers }) => providers.includes("ipmi"));

  it.each(able)("$name", { timeout: 120_000 }, async (subject) => {
    await using lab = await subjectLab(subject, { ipmi: { log: { records: [EVENT] } } });
    lab.machine.network = { ...lab.machine.network, address: "10.20.30.11", gateway: "10.20.30.1" };
    Object.assign(lab.machine, { restartCause: 4, lastPowerEvent: 1 });
    const { recording, shown } = await recordOnce(lab, subject, "ipmi");
    await using replayed = await startRecording(recording, {
      password: CANARY,
      machine: { ...QUICK, power: subject.power },
      restartMs: AWAY_MS,
    });
    for (const machine of [lab.machine, replayed.machine])
      machine.print("iPXE initialising devices...ok\r\n");

    const before = await readdir(lab.folder);
    const expected = resultOf(await lab.start(["ipmi"]).ended);
    for (const file of await readdir(lab.folder)) {
      if (!before.includes(file)) await rm(join(lab.folder, file));
    }
    const own = subject.reference.environment["USER_NAME"];
    const user = own === undefined ? {} : { USER_NAME: shown(own) };
    const env = { IPMI_PORT: String(replayed.ipmi?.port), BMC_USERNAME: replayed.username, ...user };
    const found = resultOf(await lab.start(["ipmi"], env).ended);

    expect(comparable(found)).toEqual(comparable(expected, shown));
  });
});

describe("a recording of an Intel AMT device gives the same result for", () => {
  const able = subjects.filter(({ unable }) => !unable.includes("amt"));
  const kinds: Readonly<Record<string, AmtDeviceOptions>> = {
    "a plain device": {},
    "a device that waits for its user's consent": { consent: "required" },
    "an old device, without agent": { consent: "unknown-to-it", getsPower: false, agent: false },
  };
  const cases = Object.entries(kinds).flatMap(([kind, options]) =>
    able.map((subject) => ({ kind, options, subject, name: subject.name })),
  );

  it.concurrent.for(cases)(
    "$name of $kind",
    { timeout: 120_000 },
    async ({ options, subject }, { onTestFinished }) => {
      await using lab = await subjectLab(subject);
      const { power } = subject;
      const machine = new SimulatedMachine({ ...QUICK, power });
      const original = await startAmtDevice({ ...options, machine, password: CANARY, tls: "http" });
      onTestFinished(() => original.close());
      const { port } = original.http;
      const address = { host: "127.0.0.1", username: "admin", providers: ["amt"] };
      const { recording } = await recordAt({ ...address, amt: { port, scheme: "http" } });
      await using replayed = await startRecording(recording, {
        ...{ password: CANARY, tls: "http", machine: { ...QUICK, power } },
      });
      const run = async (amtPort: number | undefined, username: string) => {
        const own = { BMC_PROVIDERS: "amt", AMT_PORT: String(amtPort), BMC_USERNAME: username };
        return resultOf(await lab.start([], own).ended);
      };

      const expected = await run(port, "admin");
      const found = await run(replayed.amt?.http.port, replayed.username);

      expect(comparable(found)).toEqual(comparable(expected));
      expect(replayed.machine.commands.map(({ action }) => action)).toEqual(
        machine.commands.map(({ action }) => action),
      );
    },
  );
});
