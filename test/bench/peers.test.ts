import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { alternate, spreadOf } from "../../bench/peers/figures.ts";
import { parsePeers, peers, withGiven } from "../../bench/peers/peers.ts";
import { startRecorder } from "../../bench/peers/recorder.ts";
import { markdownReport, merged, svgReport } from "../../bench/peers/report.ts";
import { Report, type ReportSection } from "../../scripts/performance/peer-report.ts";

const never = new AbortController().signal;

test("subjects take turns in an order that turns around, and each round is compared with its own first subject", async () => {
  const asked: string[] = [];
  const subject = (name: string, wallMs: readonly number[]) => ({
    name,
    measure: async (round: number) => {
      asked.push(`${round} ${name}`);
      return { wallMs: wallMs[round] ?? 0 };
    },
  });

  const rows = await alternate([subject("ours", [999, 10, 40, 20]), subject("theirs", [999, 30, 40, 20])], {
    rounds: 3,
    warmUp: true,
    deadline: never,
  });

  expect(asked.slice(0, 4)).toEqual(["0 ours", "0 theirs", "1 theirs", "1 ours"]);
  expect(rows[0]).toEqual({
    subject: "ours",
    runs: 3,
    figures: { wallMs: { median: 20, least: 10, most: 40 } },
  });
  expect(rows[1]?.figures.ratio).toEqual({ median: 1, least: 1, most: 3 });
});

test("a subject that fails keeps what was measured, says why, and is not asked again", async () => {
  let asked = 0;
  const failing = async (): Promise<{ wallMs: number }> => {
    asked += 1;
    if (asked === 2) throw new Error("exit code 1:\n no BMC in /tmp/x/y");
    return { wallMs: 7 };
  };

  const [row] = await alternate([{ name: "theirs", measure: failing }], {
    rounds: 5,
    warmUp: false,
    deadline: never,
  });

  expect(asked).toBe(2);
  expect(row).toMatchObject({ runs: 1, note: "failed: exit code 1: no BMC in …" });
});

test("what there was no time for is shown as not measured", async () => {
  const options = { rounds: 5, warmUp: false, deadline: AbortSignal.abort() };
  const rows = await alternate([{ name: "ours", measure: async () => ({ wallMs: 1 }) }], options);

  expect(rows).toEqual([{ subject: "ours", runs: 0, figures: {}, note: "not measured: time is up" }]);
});

test("the median of an even number of values is between the two in the middle", () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, least: 1, most: 4 });
});

test("--peer takes the place of a missing peer, or adds one; all mistakes are in one message", async () => {
  const table = withGiven(peers, parsePeers(["bmclib@2.3.5=/opt/bmclib --fast", "mine=/opt/mine"]));
  const bmclib = table.find(({ name }) => name === "bmclib");
  const order = {
    ...({ protocol: "ipmi", port: 623, username: "admin", passwordFile: "p", cipherSuite: 17 } as const),
    ...({ operation: "state", mediaUrl: "", repeat: 1 } as const),
  };

  expect(table.map(({ name }) => name)).toEqual(expect.arrayContaining(["pbnj-worker", "bmclib", "mine"]));
  const installed = await bmclib?.install("");
  expect(installed?.version).toBe("2.3.5");
  expect(installed?.command(order)).toMatchObject({
    argv: ["/opt/bmclib", "--fast"],
    env: { PEER_PORT: "623", PEER_OPERATION: "state", PEER_PASSWORD_FILE: "p" },
  });
  expect(() => parsePeers(["a=/x", "a=/y", "b", "=c"])).toThrow(
    "--peer a=/y: a is given twice; --peer b: expected name@version=command; --peer =c: expected name@version=command",
  );
});

/** A recorder in front of a server that answers "hello". */
async function recordHello(network: { readonly roundTripMs: number; readonly loss: number }) {
  const server = createServer((_, response) => response.end("hello"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const recorder = await startRecorder("redfish", port, { title: "", ...network }, 1);
  onTestFinished(() => recorder.close());
  return recorder;
}

test("the recorder counts requests, connections, packets and bytes, takes its time, and forgets", async () => {
  const recorder = await recordHello({ roundTripMs: 40, loss: 0 });
  const startedMs = performance.now();

  await (await fetch(`http://127.0.0.1:${recorder.port}/redfish/v1`)).text();

  expect(recorder.counts).toMatchObject({ requests: 1, connections: 1 });
  expect(recorder.counts.packets).toBeGreaterThanOrEqual(2);
  expect(recorder.counts.bytes).toBeGreaterThan("GET /redfish/v1 HTTP/1.1".length + "hello".length);
  // Connecting, and the request with its answer.
  expect(performance.now() - startedMs).toBeGreaterThan(75);
  recorder.forget();
  expect(recorder.counts).toEqual({ requests: 0, connections: 0, packets: 0, bytes: 0 });
});

test("a lost part of a TCP stream arrives when it would have been sent again", async () => {
  const recorder = await recordHello({ roundTripMs: 0, loss: 1 });
  const startedMs = performance.now();

  expect(await (await fetch(`http://127.0.0.1:${recorder.port}/`)).text()).toBe("hello");

  expect(performance.now() - startedMs).toBeGreaterThan(390);
});

test("a report keeps the sections of earlier runs, and shows medians with their spread, one column per program that was measured", () => {
  const section = (name: string, wallMs: number): ReportSection => ({
    ...{ name, title: `Title ${name}`, date: "2026-11-23T00:00:00Z", machine: "a machine" },
    versions: { theirs: "1.2" },
    scenarios: [
      {
        ...{ title: `state <${name}>`, charted: true },
        rows: [
          { subject: "ours", runs: 3, figures: { wallMs: { median: wallMs, least: 10, most: 30 } } },
          { subject: "bmclib", runs: 0, figures: {}, note: "missing: pass --peer" },
        ],
      },
    ],
  });
  const earlier = Report.parse({ sections: [section("start", 11), section("operations", 12)] });

  const report = merged(earlier, section("start", 22));

  expect(report.sections.map(({ name }) => name)).toEqual(["operations", "start"]);
  const markdown = markdownReport(report);
  expect(markdown).toContain("| state <start> | 22 ms (10–30) |");
  expect(markdown).toContain("2026-11-23; a machine; theirs 1.2.");
  expect(svgReport(report)).toContain("state &#60;start&#62;");
});
