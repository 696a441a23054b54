/** An input that once hung a parser, made it throw, or broke a promise. */
export interface PastFailure {
  readonly target: string;
  readonly why: string;
  readonly input: string;
}

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const lines = (count: number, line: (number: number) => string) =>
  Array.from({ length: count }, (_, number) => line(number)).join("\n");

/** Each failed before it was fixed; new findings of the fuzzer go here. */
export const pastFailures: readonly PastFailure[] = [
  {
    target: "template-substitution",
    why: "200 kB of spaces before a trim marker took two minutes",
    input: `${" ".repeat(200_000)}x{{- .a }}`,
  },
  {
    target: "template",
    why: "each problem was looked for from the start of its line and of the template",
    input: `a: [${"{{x}},".repeat(40_000)}]`,
  },
  {
    target: "yaml-nodes",
    why: "each key was compared with all before it",
    input: lines(20_000, (number) => `k${number}: 1`),
  },
  {
    target: "policy-file",
    why: "the line of each unknown key was looked for among all keys",
    input: lines(6_000, (number) => `k${number}: 1`),
  },
  {
    target: "digest-challenge",
    why: "time grew with the square of the letters: 16 kB took half a second",
    input: `Digest realm="a",nonce="b",${"a".repeat(64_000)}`,
  },
  {
    target: "entity-tag",
    why: "time grew with the square of the quotes: 16 kB took a second",
    input: `${'"'.repeat(64_000)}x`,
  },
  { target: "trace-parent", why: "time grew with the cube of the spaces", input: `${" ".repeat(4_000)}x` },
  {
    target: "ipmitool-failure",
    why: "each repetition of a message was a place to start from",
    input: "message indicates an error : ".repeat(10_000),
  },
  { target: "table", why: "130,000 rows overflowed the stack", input: "x\n".repeat(130_000) },
  {
    target: "log-line",
    why: "fields nested 8,000 times overflowed the stack of what writes them down",
    input: `{"level":30,"msg":"a","x":${nested(8_000)}}`,
  },
  {
    target: "result-line",
    why: "a hint nested 100,000 times overflowed the stack of what passes it on",
    input: `{"action":"a","ok":true,"message":"m","durationMs":1,"roundTrips":1,"hint":${nested(100_000)}}`,
  },
  {
    target: "wildcard",
    why: "each wildcard multiplied the time by the length of the name",
    input: "*a".repeat(2_000),
  },
  { target: "cluster-refusal", why: "an error event without an object threw a TypeError", input: "no JSON" },
  { target: "cluster-refusal", why: "a nested error event overflowed the stack", input: nested(100_000) },
  { target: "grpc-status", why: "malformed percent-encoding lost the status code", input: "100 %" },
  {
    target: "cluster-condition",
    why: "each digit of a message was a place to start from",
    input: `took ${"1".repeat(200_000)}`,
  },
  {
    target: "redaction",
    why: "an escape sequence that ended with the secret's first character hid the secret",
    input: "\u001b[Pa55word!",
  },
  {
    target: "pod-log",
    why: "a line that came byte by byte was copied for each of its bytes",
    input: "\0".repeat(128 * 1024),
  },
];
