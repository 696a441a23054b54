import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { DescService, JsonObject } from "@bufbuild/protobuf";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { fromGo, provenWith } from "./compatibility/peer.ts";
import { type CallPbnj, callToEnd, clientCaller, grpcurlCaller, PBNJ_SERVICES } from "./pbnj-caller.ts";
import { PBNJ_CALLS } from "./pbnj-calls.ts";
import { comparedRequests, endOf } from "./pbnj-differences.ts";
import { type PbnjLab, startPbnjLab } from "./pbnj-lab.ts";
import { startPbnjServer } from "./pbnj-server.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

const run = promisify(execFile);
const SLOW_TEST_MS = 120_000;
const METHODS = PBNJ_SERVICES.flatMap(({ typeName, methods }) =>
  methods.map(({ name }) => `${typeName}.${name}`),
);

/** PBnJ's program: its server beside ours, and its client. */
const pbnjServer = process.env["PBNJ_SERVER"];
const pbnjClient = process.env["PBNJ_CLIENT"];
if (!pbnjServer) process.stderr.write("skipped: PBNJ_SERVER names no program of PBnJ\n");
if (!pbnjClient) process.stderr.write("skipped: PBNJ_CLIENT names no program of PBnJ\n");

async function expectEveryCall(call: CallPbnj, { machine }: PbnjLab, authn: JsonObject): Promise<void> {
  for (const { method, request, task, code } of PBNJ_CALLS) {
    const answer = await callToEnd(call, method, { ...request, authn });

    if (task) {
      expect(answer, method).toEqual({ task: expect.objectContaining({ ...task, state: "complete" }) });
    } else if (code) expect(answer, method).toMatchObject({ code });
    else expect(answer, method).toHaveProperty("message");
  }
  expect(machine).toMatchObject({ power: "on", override: { device: "pxe", enabled: "once" } });
  expect(machine.commands.map(({ action }) => action)).toEqual([
    "off",
    "on",
    "cycle",
    "reset",
    "off",
    "on",
    "nmi",
  ]);
  expect(new Set(PBNJ_CALLS.map(({ method }) => method)).size).toBe(METHODS.length - 1);
}

describeWithProgram("grpcurl", "PBnJ's API, used with grpcurl", () => {
  it("shows every method by reflection, and carries each out", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await startPbnjLab();
    const grpcurl = findProgram("grpcurl") ?? "";
    const list = ({ typeName }: DescService) => run(grpcurl, ["-plaintext", lab.address, "list", typeName]);
    const listed = await Promise.all(PBNJ_SERVICES.map(list));

    expect(listed.flatMap(({ stdout }) => stdout.trim().split("\n")).toSorted()).toEqual(METHODS.toSorted());
    await expectEveryCall(grpcurlCaller(grpcurl, lab.address), lab, lab.directAuthn);
  });
});

describe.concurrent("PBnJ's API, used with a generated client", { timeout: SLOW_TEST_MS }, () => {
  it("carries out every method over gRPC, for a machine of the inventory", async () => {
    await using lab = await startPbnjLab();
    const transport = createGrpcTransport({ baseUrl: `http://${lab.address}` });

    await expectEveryCall(clientCaller(transport), lab, lab.externalAuthn);
  });

  it("carries out every method over HTTP/1.1 and JSON, with credentials in the request", async () => {
    await using lab = await startPbnjLab();
    const transport = createConnectTransport({ baseUrl: `http://${lab.address}`, httpVersion: "1.1" });

    await expectEveryCall(clientCaller(transport), lab, lab.directAuthn);
  });
});

const withServer = provenWith(fromGo("PBnJ's server", pbnjServer ?? "", "tinkerbell/pbnj"));
const withClient = provenWith(fromGo("PBnJ's client", pbnjClient ?? "", "tinkerbell/pbnj"));

describe.skipIf(!pbnjServer)("PBnJ's server", { timeout: SLOW_TEST_MS, ...withServer }, () => {
  it("answers as docs/how-to/from-pbnj.md says, and so does the worker", async () => {
    await using lab = await startPbnjLab({ bmcHost: "127.61.0.1" });
    await using pbnj = await startPbnjServer(pbnjServer ?? "");
    const worker = clientCaller(createGrpcTransport({ baseUrl: `http://${lab.address}` }));
    const { host, username } = lab.directAuthn.directAuthn;
    const wrongPassword = { directAuthn: { host, username, password: "another" } };
    const expected = comparedRequests(lab.directAuthn, wrongPassword);
    const seen = [];
    for (const compared of expected) {
      const ends = { pbnj: await endOf(pbnj.call, compared), worker: await endOf(worker, compared) };
      seen.push({ ...compared, ...ends });
    }

    expect(seen).toEqual(expected);
  });
});

describe.skipIf(!pbnjClient)("PBnJ's client", { timeout: SLOW_TEST_MS, ...withClient }, () => {
  it("gets what it asks for", async () => {
    const password = "ADMIN";
    await using lab = await startPbnjLab({ apiPort: 50_051, username: "ADMIN", password });
    const cwd = await mkdtemp(join(tmpdir(), "pbnj-client-"));
    onTestFinished(() => rm(cwd, { recursive: true }));
    const bmc = ["--bmcaddress", "127.0.0.1", "--bmcuser", "ADMIN", "--bmcpass", password];
    const ask = (...argv: readonly string[]) => run(pbnjClient ?? "", ["client", ...argv], { cwd });

    expect((await ask("machine")).stdout).toContain('"result":"on"');
    expect((await ask("diagnostic", "selclear", ...bmc)).stdout).toContain('"complete":true');
    await ask("diagnostic", "nmi", ...bmc);
    await ask("diagnostic", "screenshot", ...bmc);
    expect(lab.machine.count("nmi")).toBe(1);
    expect(await readdir(cwd)).toEqual([expect.stringMatching(/png$/)]);
  });
});
