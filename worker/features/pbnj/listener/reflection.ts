import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "./gen/grpc/reflection/v1/reflection_pb.ts";

type Request = ServerReflectionRequest["messageRequest"];
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** gRPC server reflection for the given services. */
export function reflectionService(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
  const index = new DescriptorIndex(services);
  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: index.answer(request.messageRequest),
        };
      }
    },
  };
}

class DescriptorIndex {
  readonly #services: readonly DescService[];
  readonly #types: Registry;
  readonly #files: ReadonlyMap<string, DescFile>;

  constructor(services: readonly DescService[]) {
    this.#services = services;
    const files = new Set<DescFile>();
    for (const { file } of services) addWithDependencies(file, files);
    this.#types = createRegistry(...files);
    this.#files = new Map([...files].map((file) => [file.proto.name, file]));
  }

  answer(request: Request): Answer {
    switch (request.case) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: this.#services.map(({ typeName }) => ({ name: typeName })) },
        };
      case "fileByFilename":
        return answerOf(this.#files.get(request.value));
      case "fileContainingSymbol":
        return answerOf(this.#fileOf(request.value));
      case "fileContainingExtension":
      case "allExtensionNumbersOfType":
        return problem(Code.NotFound, "no extensions");
      default:
        return problem(Code.InvalidArgument, "unknown request");
    }
  }

  #fileOf(symbol: string): DescFile | undefined {
    const type = this.#types.get(symbol);
    if (type) return type.file;
    const dot = symbol.lastIndexOf(".");
    const service = this.#types.getService(symbol.slice(0, dot));
    return service?.methods.some(({ name }) => name === symbol.slice(dot + 1)) ? service.file : undefined;
  }
}

/** The file with the files that it imports, so that clients need not request each of them. */
function answerOf(file: DescFile | undefined): Answer {
  if (!file) return problem(Code.NotFound, "not found");
  const files = new Set<DescFile>();
  addWithDependencies(file, files);
  return {
    case: "fileDescriptorResponse",
    value: { fileDescriptorProto: [...files].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)) },
  };
}

function addWithDependencies(file: DescFile, files: Set<DescFile>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const imported of file.dependencies) addWithDependencies(imported, files);
}

function problem(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
