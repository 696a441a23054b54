import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { CollectedSpan } from "./read-json.ts";

/** The values of a message by field number. Submessages, strings and bytes are bytes. */
type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint | number)[]>;

/** Reads spans. Throws if the body is not protobuf (`ExportTraceServiceRequest` of opentelemetry/proto/collector/trace/v1). */
export function spansOfProtobuf(body: Buffer): readonly CollectedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const resource = messages(resourceSpans, 1).flatMap((one) => keyValues(one, 1));
    const attributes = Object.fromEntries(resource);
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => spanOf(span, attributes)),
    );
  });
}

function spanOf(span: Fields, resource: Readonly<Record<string, unknown>>): CollectedSpan {
  const status = messages(span, 15)[0];
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentSpanId: hex(span, 4),
    name: text(span, 5),
    kind: Number(span.get(6)?.[0] ?? 0),
    startMs: Number(span.get(7)?.[0] ?? 0) / 1e6,
    endMs: Number(span.get(8)?.[0] ?? 0) / 1e6,
    attributes: Object.fromEntries(keyValues(span, 9)),
    failed: Number(status?.get(3)?.[0] ?? 0) === 2,
    message: status ? text(status, 2) : "",
    service: String(resource["service.name"]),
    resource,
  };
}

function keyValues(message: Fields, number: number): readonly (readonly [string, unknown])[] {
  return messages(message, number).map((pair) => {
    const value = messages(pair, 2)[0] ?? new Map();
    return [text(pair, 1), anyValue(value)] as const;
  });
}

/** Reads an `AnyValue` of opentelemetry/proto/common/v1. */
function anyValue(value: Fields): unknown {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return value.get(2)?.[0] === 1n;
  if (value.has(3)) return Number(value.get(3)?.[0]);
  const bits = value.get(4)?.[0];
  return typeof bits === "bigint" ? new Float64Array(BigInt64Array.of(bits).buffer)[0] : undefined;
}

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | bigint | number)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.Varint) values.push(BigInt(reader.uint64()));
    else if (type === WireType.Bit64) values.push(BigInt(reader.sfixed64()));
    else if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Bit32) values.push(reader.fixed32());
    else throw new Error(`a wire type ${type} that OTLP does not use`);
  }
  return fields;
}

function messages(fields: Fields, number: number): readonly Fields[] {
  return bytesOf(fields, number).map(fieldsOf);
}

function bytesOf(fields: Fields, number: number): readonly Uint8Array[] {
  return (fields.get(number) ?? []).filter((value) => value instanceof Uint8Array);
}

function text(fields: Fields, number: number): string {
  return Buffer.from(bytesOf(fields, number)[0] ?? []).toString("utf8");
}

function hex(fields: Fields, number: number): string {
  return Buffer.from(bytesOf(fields, number)[0] ?? []).toString("hex");
}
