import { describe, expect, it, onTestFinished } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { WireRecorder } from "../../../../shared/bmc/recording/wire-recorder.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { Anonymiser } from "../../../../shared/recording/anonymise.ts";
import { parseRecording, recordingText } from "../../../../shared/recording/recording.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import type { TappedIpmi } from "../../../../shared/tracing/wire-tap.ts";
import { type IpmiBmc, startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRecording } from "../../../../simulators/recorded/start-recording.ts";

const REASON = "Missing the BootSourceOverrideTarget and/or BootSourceOverrideMode element";
const anonymous = (recorder: WireRecorder) => recorder.anonymous(new Anonymiser(redactor({})));

/** What is recorded of one answer to a PATCH. */
function answered(answer: { status: number; headers: Readonly<Record<string, string>>; body: Buffer }) {
  const recorder = new WireRecorder();
  const sent = { origin: "https://192.0.2.9", method: "PATCH", path: "/redfish/v1/Systems/1" };
  recorder.http({
    ...{ ...sent, headers: {}, body: undefined, answer },
    ...{ startedMs: 0, endedMs: 1, connection: 1 },
  });
  return anonymous(recorder).exchanges?.[0];
}

it.each([
  ["the reason of a refusal", 400, REASON, REASON],
  ["not one that has digits", 400, "Wrong password hunter2", ""],
  ["not a page", 500, "<h1>calvin</h1>", ""],
  ["not a long text", 400, "calvin ".repeat(50), ""],
  ["not a text that is no refusal", 200, "the key is calvin", ""],
])("keeps of a body that is no JSON: %s", (_, status, text, kept) => {
  expect(answered({ status, headers: {}, body: Buffer.from(text) })?.body).toBe(kept);
});

it.each([
  ["the path where it is the BMC's own", "https://192.0.2.9:443/redfish/v1/T/1", /^\/redfish\/v1\/T\/1$/],
  [
    "that it leads to another port",
    "https://192.0.2.9:8080/redfish/v1/T/1",
    /^https:\/\/(?!192\.0\.2\.9)[\d.]+:8080\/redfish\/v1\/T\/1$/,
  ],
])("keeps of a Location %s", (_, location, kept) => {
  const { headers } = answered({ status: 202, headers: { location }, body: Buffer.alloc(0) }) ?? {};

  expect(headers?.["location"]).toMatch(kept);
});

describe("of IPMI", () => {
  const CANARY = Buffer.from("canary").toString("hex");
  const tapped = (command: string, netFn: number, code: number, data: string, rest: Partial<TappedIpmi>) => ({
    ...{ command, netFn, code, data: Buffer.from(data, "hex"), startedMs: 0, endedMs: 1, ...rest },
  });
  const ok = (answer: string) => ({ completionCode: 0, answer: Buffer.from(answer, "hex") });
  const rowsOf = (...commands: TappedIpmi[]) => {
    const recorder = new WireRecorder();
    for (const command of commands) recorder.ipmi(command);
    return anonymous(recorder).commands?.map(({ data, answer }) => [data, answer]) ?? [];
  };

  it("keeps records of sensors without their reservation, and of a maker's own no more than the header", () => {
    const sdr = (data: string, answer: string) => tapped("Get SDR", 0x0a, 0x23, data, ok(answer));

    expect(
      rowsOf(
        sdr("7856010000ff", `0200${"0100510106"}aabbcc`),
        sdr("785601000803", "0200ddeeff"),
        sdr("7856020000ff", `ffff${"020051c006"}${CANARY}`),
        sdr("785602000506", `ffff${CANARY}`),
      ),
    ).toEqual([
      ["0000010000ff", "02000100510106aabbcc"],
      ["000001000803", "0200ddeeff"],
      ["0000020000ff", `ffff020051c006${"00".repeat(6)}`],
      ["000002000506", `ffff${"00".repeat(6)}`],
    ]);
  });

  it("keeps events, and of a maker's own no more than their time", () => {
    const event = (answer: string) => tapped("Get SEL Entry", 0x0a, 0x43, "7856000000ff", ok(answer));
    const standard = "0200010002a1b26520000408096f01ffff00";

    expect(
      rowsOf(event(standard), event(`ffff0200c1a1b2652057010000${CANARY}`)).map(([, answer]) => answer),
    ).toEqual([standard, `ffff0200c1a1b2652057010000${"00".repeat(6)}`]);
  });

  it("keeps no address, and nothing of users", () => {
    const lan = (data: string) => tapped("Set LAN Configuration Parameters", 0x0c, 0x01, data, ok(""));

    expect(
      rowsOf(lan("0103c0000209"), lan("010401"), tapped("Set User Name", 0x06, 0x45, CANARY, ok(CANARY))),
    ).toEqual([
      ["0103", undefined],
      ["010401", undefined],
      [undefined, undefined],
    ]);
  });

  it("keeps what got no answer, and not what was cancelled", () => {
    const lost = (error: unknown) => tapped("Get Chassis Status", 0, 1, "", { error });

    expect(
      rowsOf(lost(new BmcError("timeout", "no answer")), lost(new BmcError("cancelled", "closed"))),
    ).toHaveLength(1);
  });

  it("has the answers of a BMC that is odd now and then, which its replay gives again", async () => {
    const original = await startIpmiBmc({ machine: new SimulatedMachine() });
    onTestFinished(() => original.close());
    let handshakes = 0;
    original.faults.shakes = (name) => (name === "RAKP1" && handshakes++ === 0 ? 0x08 : undefined);
    let looks = 0;
    original.faults.refuses = (name) => (name === "Get Chassis Status" && looks++ === 0 ? 0xc0 : undefined);
    const recorder = new WireRecorder();
    const power = async ({ port }: IpmiBmc, password: string, tap = new WireRecorder()) => {
      const login = { username: "admin", password };
      const given = { host: "127.0.0.1", providers: ["ipmi"], ipmi: { port }, ...login };
      const client = new BmcClient(Connection.parse(given), { tap });
      return await client.getPower(AbortSignal.timeout(60_000)).finally(() => client.close());
    };

    await power(original, "calvin", recorder);
    const written = recordingText({ resources: {}, ipmi: {}, ...anonymous(recorder) });
    await using replayed = await startRecording(parseRecording(Buffer.from(written)));
    if (!replayed.ipmi) throw new Error("no IPMI");
    expect(await power(replayed.ipmi, replayed.password)).toBe("on");

    const count = (asked: string) => replayed.ipmi?.log.filter((name) => name === asked).length;
    expect(count("RAKP1")).toBeGreaterThan(1);
    expect(count("Get Chassis Status")).toBeGreaterThan(1);
  });
});
