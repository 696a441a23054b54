import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { saysGone } from "../../../../worker/sources/grpc/grpc-errors.ts";

function fromWire(message: string, code: Code): ConnectError {
  return Object.assign(new ConnectError(message, code), { isWireError: true });
}

const MISSING = 'failed to get workflow default/w: Workflow.tinkerbell.org "w" not found';

it.each([
  ["action not found", Code.NotFound],
  [`error getting workflow: ${MISSING}`, Code.Internal],
  [
    `error reading from backend\nrpc error: code = Internal desc = error getting workflow: ${MISSING}`,
    Code.Internal,
  ],
])("the server's %j says that a workflow is gone", (message, code) => {
  expect(saysGone(fromWire(message, code))).toBe(true);
});

it.each([
  ["HTTP 404", new ConnectError("HTTP 404", Code.Unimplemented)],
  ["a proxy's own error with the server's words", new ConnectError("action not found", Code.NotFound)],
  ["a route that is not found", fromWire("route not found", Code.NotFound)],
  ["a status without words", fromWire("", Code.NotFound)],
  ["a right that is missing", fromWire("action not found", Code.PermissionDenied)],
  [
    "a store that does not answer",
    fromWire("error getting workflow: context deadline exceeded", Code.Internal),
  ],
  ["a write that failed", fromWire("error writing report status: not found", Code.Internal)],
  ["no answer", new Error("connect ECONNREFUSED")],
])("%s does not", (_, thrown) => {
  expect(saysGone(thrown)).toBe(false);
});
