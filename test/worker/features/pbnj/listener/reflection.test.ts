import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { ServerReflection } from "../../../../../worker/features/pbnj/listener/gen/grpc/reflection/v1/reflection_pb.ts";
import { serving } from "./serving.ts";

/** The answer to one request: names of services or files, or the error. */
async function ask(name: string, value: string): Promise<unknown> {
  await using api = await serving();
  const answers = createClient(ServerReflection, api.grpc()).serverReflectionInfo(
    (async function* () {
      yield { messageRequest: { case: name as "fileByFilename", value } };
    })(),
  );
  for await (const { messageResponse: answer, originalRequest } of answers) {
    expect(originalRequest?.messageRequest).toMatchObject({ case: name });
    if (answer.case === "listServicesResponse") return answer.value.service.map((service) => service.name);
    if (answer.case !== "fileDescriptorResponse") return answer.value;
    const files = answer.value.fileDescriptorProto;
    return files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
  }
  return "no answer";
}

test("lists the services", async () => {
  expect(await ask("listServices", "")).toEqual([
    Machine.typeName,
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
  ]);
});

test.each([
  ["fileByFilename", "machine.proto"],
  ["fileContainingSymbol", Machine.typeName],
  ["fileContainingSymbol", `${Machine.typeName}.Power`],
  ["fileContainingSymbol", Machine.method.power.input.typeName],
  ["fileContainingSymbol", "github.com.tinkerbell.pbnj.api.v1.PowerAction"],
])("%s finds %s, with the files that it imports", async (name, value) => {
  expect(await ask(name, value)).toEqual(["machine.proto", "common.proto"]);
});

test.each([
  ["fileByFilename", "../../etc/passwd", 5],
  ["fileContainingSymbol", `${Machine.typeName}.Powers`, 5],
  ["fileContainingSymbol", "", 5],
  ["allExtensionNumbersOfType", Machine.typeName, 5],
])("%s of %j is an error", async (name, value, errorCode) => {
  expect(await ask(name, value)).toMatchObject({ errorCode });
});
