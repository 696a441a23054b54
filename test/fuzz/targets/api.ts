import { generateKeyPairSync } from "node:crypto";
import { FileProblem } from "../../../shared/read-text-file.ts";
import { parseJwtPublicKeys, parseJwtSecrets } from "../../../worker/features/pbnj/listener/jwt-keys.ts";
import type { Target } from "../target.ts";
import { JSON_TOKENS } from "./json.ts";

const { publicKey } = generateKeyPairSync("ed25519");
const PEM = publicKey.export({ type: "spki", format: "pem" }).toString();
const SECRET = "0123456789abcdef0123456789abcdef";
const isFileProblem = (thrown: unknown) => thrown instanceof FileProblem;

/** What decides who may call the worker's API. */
export const apiTargets: readonly Target[] = [
  {
    name: "public keys of tokens",
    seeds: [PEM, PEM + PEM, JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] })],
    tokens: [...JSON_TOKENS, "-----BEGIN ", "PUBLIC KEY-----", "-----END ", '{"kty":"OKP"}'],
    around: [["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"]],
    call: parseJwtPublicKeys,
    throws: isFileProblem,
  },
  {
    name: "secrets of tokens",
    seeds: [SECRET, `${SECRET}\n\n${SECRET}x\n`],
    tokens: ["\n", SECRET, "-----BEGIN "],
    call: parseJwtSecrets,
    throws: isFileProblem,
  },
];
