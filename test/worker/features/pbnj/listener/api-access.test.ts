import { Code, createClient } from "@connectrpc/connect";
import type { JWTPayload } from "jose";
import { describe, expect, test } from "vitest";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { Health } from "../../../../../worker/features/pbnj/listener/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../../../worker/features/pbnj/listener/gen/grpc/reflection/v1/reflection_pb.ts";
import {
  client,
  clientCa,
  jwt,
  keepingLogger,
  ON,
  OTHER_SECRET,
  POWER,
  SECRET,
  serving,
  stranger,
  tls,
  token,
} from "./serving.ts";

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });

describe("with tokens", () => {
  test("a caller is who its token says, with the machines of its token", async () => {
    await using api = await serving({ files: jwt });
    const machine = createClient(Machine, api.grpc());
    const call = async (claims: JWTPayload) =>
      (await machine.power({ powerAction: 1 }, bearer(await token(claims)))).taskId;

    expect(await call({ sub: "alice" })).toBe("alice may");
    expect(await call({ sub: "bob", machines: ["node1*"] })).toBe("bob may");
    expect(await call({ sub: "carol", machines: ["node2"] })).toBe("carol may not");
  });

  test.each([
    ["no token", undefined, "a token is required, as Authorization: Bearer"],
    ["another scheme", "Digest abc", "a token is required, as Authorization: Bearer"],
    ["a token that is none", "Bearer aaaaaaaaaaaaaaaaaaaa", "the token is not a JSON Web Token"],
  ])("%s is refused over gRPC and HTTP/1.1, before the message is read", async (_, authorization, reason) => {
    await using api = await serving({ files: jwt });
    const headers = authorization === undefined ? {} : { authorization };

    await expect(createClient(Machine, api.grpc()).power({}, { headers })).rejects.toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: reason,
    });
    expect(await api.post(POWER, "{not json", { headers })).toMatchObject({
      status: 401,
      text: JSON.stringify({ code: "unauthenticated", message: reason }),
    });
  });

  test("health is open, reflection is not", async () => {
    await using api = await serving({ files: jwt });

    await expect(createClient(Health, api.grpc()).check({})).resolves.toMatchObject({ status: 1 });
    const answers = createClient(ServerReflection, api.grpc()).serverReflectionInfo(oneRequest());
    await expect(answers[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  test("neither logs nor answers contain the token, and the log warns once a minute", async () => {
    const { log, lines } = keepingLogger();
    await using api = await serving({ files: jwt, log });
    const refused = await token({}, OTHER_SECRET);

    const { text } = await api.post(POWER, ON, bearer(refused));
    await api.post(POWER, ON);

    expect(lines).toEqual([
      'warn: API client refused {"client":"127.0.0.1","reason":"the token\'s signature is invalid"}',
      'debug: API client refused {"client":"127.0.0.1","reason":"a token is required, as Authorization: Bearer"}',
    ]);
    expect(text).not.toContain(refused.slice(0, 16));
  });

  test("a changed secret applies at once, and an invalid one changes nothing", async () => {
    await using api = await serving({ files: jwt });
    const statusWith = async (secret?: string) =>
      (await api.post(POWER, ON, bearer(await token({}, secret)))).status;

    expect(api.change("pbnj-jwt-secret-file", "short\n")).toMatchObject({ ok: false });
    expect(await statusWith()).toBe(200);
    expect(api.change("pbnj-jwt-secret-file", `${OTHER_SECRET}\n`)).toMatchObject({ ok: true });

    expect([await statusWith(), await statusWith(OTHER_SECRET)]).toEqual([401, 200]);
  });

  test("a stream goes on while its key is valid, and ends with it", async () => {
    await using api = await serving({ files: jwt });
    const requests = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* asked() {
      yield* oneRequest();
      for (const { promise } of requests) {
        await promise;
        yield* oneRequest();
      }
    }
    const client = createClient(ServerReflection, api.grpc());
    const answers = client.serverReflectionInfo(asked(), bearer(await token()))[Symbol.asyncIterator]();
    await answers.next();
    const other = createClient(Machine, api.grpc());

    expect(api.change("pbnj-jwt-secret-file", `${SECRET}\n${OTHER_SECRET}\n`)).toMatchObject({ ok: true });
    requests[0]?.resolve();
    await expect(answers.next()).resolves.toMatchObject({ done: false });
    expect(api.change("pbnj-jwt-secret-file", `${OTHER_SECRET}\n`)).toMatchObject({ ok: true });
    requests[1]?.resolve();

    await expect(answers.next()).rejects.toThrow();
    const renewed = bearer(await token({ sub: "alice" }, OTHER_SECRET));
    await expect(other.power({ powerAction: 1 }, renewed)).resolves.toMatchObject({ taskId: "alice may" });
  });
});

describe("with client certificates", () => {
  test("only a certificate of the authority is accepted, and health needs none", async () => {
    await using api = await serving({ files: { ...tls, ...clientCa } });
    const machine = (nodeOptions: object) => createClient(Machine, api.grpc({ nodeOptions }));

    await expect(machine(client).power({ powerAction: 1 })).resolves.toMatchObject({ taskId: "alice may" });
    await expect(machine(stranger).power({})).rejects.toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: "a client certificate is required",
    });
    expect(await api.post(POWER, ON)).toMatchObject({ status: 401 });
    expect(await api.post(POWER, ON, { client })).toMatchObject({
      status: 200,
      text: '{"taskId":"alice may"}',
    });
    expect(await api.post("/grpc.health.v1.Health/Check", "{}")).toMatchObject({ status: 200 });
  });

  test("a token limits a caller that also has a certificate", async () => {
    await using api = await serving({ files: { ...tls, ...clientCa, ...jwt } });
    const limited = bearer(await token({ sub: "bob", machines: [] }));

    expect(await api.post(POWER, ON, { client })).toMatchObject({ text: '{"taskId":"alice may"}' });
    expect(await api.post(POWER, ON, limited)).toMatchObject({ text: '{"taskId":"bob may not"}' });
    expect(await api.post(POWER, ON, { ...limited, client })).toMatchObject({
      text: '{"taskId":"bob may not"}',
    });
    expect(await api.post(POWER, ON, { ...bearer("aaaa"), client })).toMatchObject({ status: 401 });
    const unreadable = { headers: { authorization: "Bearer a token with spaces" } };
    expect(await api.post(POWER, ON, { ...unreadable, client })).toMatchObject({ status: 401 });
  });

  test("another authority ends connections and their certificates", async () => {
    await using api = await serving({ files: { ...tls, ...clientCa } });
    const machine = () => createClient(Machine, api.grpc({ nodeOptions: client }));
    const connected = machine();
    await connected.power({ powerAction: 1 });
    const ended = expect(connected.power({ powerAction: 4 })).rejects.toThrow();

    expect(api.change("pbnj-client-ca-file", stranger.cert)).toMatchObject({ ok: true });

    await ended;
    await expect(machine().power({ powerAction: 1 })).rejects.toMatchObject({ code: Code.Unauthenticated });
  });
});

async function* oneRequest() {
  yield { messageRequest: { case: "listServices", value: "" } } as const;
}
