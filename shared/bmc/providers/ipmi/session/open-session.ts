import { PRIVILEGE_LEVELS, type Privilege } from "../commands/command.ts";
import type { CipherSuite } from "./cipher-suite.ts";

export interface OpenSessionRequest {
  readonly tag: number;
  readonly privilege: Privilege;
  readonly consoleId: number;
  readonly suite: CipherSuite;
}

/** RMCP+ Open Session Request (IPMI 2.0 section 13.17): 32 bytes. */
export function buildOpenSessionRequest({ tag, privilege, consoleId, suite }: OpenSessionRequest): Buffer {
  const head = Buffer.alloc(8);
  head[0] = tag;
  head[1] = PRIVILEGE_LEVELS[privilege];
  head.writeUInt32LE(consoleId, 4);
  return Buffer.concat([
    head,
    algorithm(0x00, suite.authentication),
    algorithm(0x01, suite.integrity),
    algorithm(0x02, suite.confidentiality),
  ]);
}

function algorithm(payloadType: number, number: number): Buffer {
  return Buffer.from([payloadType, 0, 0, 8, number, 0, 0, 0]);
}

/** The beginning of every answer in the handshake. `consoleId` is absent from the shortest errors. */
export interface HandshakeAnswer {
  readonly tag: number;
  readonly status: number;
  readonly consoleId: number | undefined;
}

/** Parses tag, status and console session ID; undefined if even these are missing. */
export function parseHandshakeAnswer(payload: Buffer): HandshakeAnswer | undefined {
  if (payload.length < 2) return undefined;
  return {
    tag: payload.readUInt8(0),
    status: payload.readUInt8(1),
    consoleId: payload.length >= 8 ? payload.readUInt32LE(4) : undefined,
  };
}

export interface OpenSessionResponse {
  readonly bmcId: number;
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
}

/** Parses an RMCP+ Open Session Response without error (section 13.18) of 36 bytes; undefined if it is malformed. */
export function parseOpenSessionResponse(payload: Buffer): OpenSessionResponse | undefined {
  if (payload.length < 36) return undefined;
  const bmcId = payload.readUInt32LE(8);
  if (bmcId === 0) return undefined;
  return {
    bmcId,
    authentication: payload.readUInt8(16) & 0x3f,
    integrity: payload.readUInt8(24) & 0x3f,
    confidentiality: payload.readUInt8(32) & 0x3f,
  };
}

/** Whether the BMC answered with exactly the requested algorithms. */
export function keepsSuite(response: OpenSessionResponse, suite: CipherSuite): boolean {
  return (
    response.authentication === suite.authentication &&
    response.integrity === suite.integrity &&
    response.confidentiality === suite.confidentiality
  );
}
