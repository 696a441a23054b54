import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../../../shared/logger.ts";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import type { ApiCallSeen } from "../../../../../worker/features/shared/observer.ts";
import { jwt, keepingLogger, ON, POWER, server, serving, tls, token } from "./serving.ts";

describe.each([
  ["plaintext", {}],
  ["TLS", tls],
])("with %s", (_, files) => {
  test("gRPC, Connect over HTTP/2 and HTTP/1.1, and plain JSON use one port", async () => {
    await using api = await serving({ files });
    const options = { baseUrl: api.url, nodeOptions: { ca: server.cert } };

    const transports = [
      api.grpc(),
      createConnectTransport({ ...options, httpVersion: "2" }),
      createConnectTransport({ ...options, httpVersion: "1.1" }),
    ];
    for (const transport of transports) {
      await expect(createClient(Machine, transport).power({ powerAction: 1 })).resolves.toMatchObject({
        taskId: "anyone may",
      });
    }
    expect(await api.post(POWER, ON)).toMatchObject({ status: 200, text: '{"taskId":"anyone may"}' });
  });
});

test("the content type that curl -d sends is taken as JSON", async () => {
  await using api = await serving();

  const headers = { "content-type": "application/x-www-form-urlencoded" };
  expect(await api.post(POWER, ON, { headers })).toMatchObject({
    status: 200,
    text: '{"taskId":"anyone may"}',
  });
});

test("an error keeps its code over gRPC and HTTP/1.1", async () => {
  await using api = await serving();

  await expect(createClient(Machine, api.grpc()).bootDevice({})).rejects.toMatchObject({
    code: Code.NotFound,
    rawMessage: "no such machine",
  });
  expect(await api.post(POWER.replace("Power", "BootDevice"), "{}")).toMatchObject({
    status: 404,
    text: '{"code":"not_found","message":"no such machine"}',
  });
});

test("calls are counted by their code, apart from health and reflection", async () => {
  const codes: string[] = [];
  const observer = { apiCall: ({ code }: ApiCallSeen) => void codes.push(code) };
  await using api = await serving({ files: jwt, observer });
  const headers = { authorization: `Bearer ${await token()}` };

  await api.post("/grpc.health.v1.Health/Check", "{}");
  await api.post(POWER, ON);
  await api.post(POWER, ON, { headers });
  await api.post(POWER, '{"powerAction":5}', { headers });
  await api.post(POWER.replace("Power", "BootDevice"), "{}", { headers });

  expect(codes).toEqual(["Unauthenticated", "OK", "Internal", "NotFound"]);
});

test("an unexpected failure is logged, and the client learns nothing of it", async () => {
  const { log, lines } = keepingLogger();
  await using api = await serving({ log });

  const { status, text } = await api.post(POWER, '{"powerAction":5}');

  expect({ status, text }).toEqual({ status: 500, text: '{"code":"internal","message":"internal error"}' });
  expect(lines).toEqual([
    expect.stringContaining('error: API call failed {"method":"Power","error":"secret reason"'),
  ]);
});

test.each([
  ["a misspelt field", POWER, '{"powerActoin":"POWER_ACTION_ON"}', {}, 400],
  ["no JSON", POWER, "{", {}, 400],
  ["another content type", POWER, ON, { "content-type": "text/plain" }, 415],
  ["gRPC-Web", POWER, ON, { "content-type": "application/grpc-web+json" }, 415],
  ["an unknown method", `${POWER}s`, ON, {}, 404],
  ["a foreign name for this host (DNS rebinding)", POWER, ON, { host: "attacker.example" }, 403],
  ["a web page", POWER, ON, { origin: "null" }, 403],
  ["a host that is none", POWER, ON, { host: "a b" }, 400],
])("%s is refused", async (_, path, body, headers, status) => {
  await using api = await serving();

  expect(await api.post(path, body, { headers })).toMatchObject({
    status,
    ...(status !== 415 && { text: expect.stringContaining('"code":') }),
  });
});

describe("an address", () => {
  test("beyond loopback needs authentication, unless everyone may call", async () => {
    const address = { host: "0.0.0.0", port: 0 };

    await expect(serving({ address })).rejects.toThrow("is not a loopback address and needs authentication");
    await using api = await serving({ address, allowUnauthenticated: true });
    expect(await api.post(POWER, ON)).toMatchObject({ status: 200 });
  });

  test("that is in use is an error of one line", async () => {
    await using api = await serving();

    await expect(serving({ address: { host: "127.0.0.1", port: api.port } })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${api.port} (pbnj-address): it is in use, by another worker or program`,
    );
  });

  test("is free after an abort", async () => {
    const stop = new AbortController();
    await using api = await serving({ signal: stop.signal });
    const { port } = api;

    stop.abort(new Error("stopped"));
    await api.close();

    await using again = await serving({ address: { host: "127.0.0.1", port } });
    expect(again.port).toBe(port);
    await expect(serving({ signal: stop.signal })).rejects.toThrow("stopped");
  });
});

test("closing ends calls in progress", async () => {
  await using api = await serving({ log: silentLogger });
  const call = createClient(Machine, api.grpc()).power({ powerAction: 4 });
  const failed = expect(call).rejects.toMatchObject({ code: Code.Unavailable });
  await createClient(Machine, api.grpc()).power({ powerAction: 1 });

  await api.close();

  await failed;
  expect(api.ended).toEqual(["aborted"]);
});
