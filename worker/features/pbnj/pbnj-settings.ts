import { z } from "zod";
import { Secret } from "../../../shared/secret.ts";
import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart, Loading } from "../../config/part.ts";
import type { NamedText, SecretFile } from "../../config/pem.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { readTlsFiles, type TlsFiles } from "../../config/tls-files.ts";
import { ActionImage, Text } from "../../document/value-types.ts";
import { type ListenAddress, ListenAddressText } from "../../listener/addresses.ts";
import { addressConcerns, addressRules } from "../../listener/served-address.ts";
import { PBNJ_AGENT_ID } from "../shared/source-agent-ids.ts";
import { parseJwtPublicKeys, parseJwtSecrets } from "./listener/jwt-keys.ts";

/** The default of `pbnj-worker serve`: PBnJ's port on loopback, where the API needs no authentication. */
export const DEFAULT_PBNJ_ADDRESS: ListenAddress = { host: "127.0.0.1", port: 50_051 };

const settings = {
  pbnjAddress: setting(ListenAddressText.optional(), {
    description: "Address on which to serve PBnJ's API",
    type: "host:port",
    defaultText: "none; 127.0.0.1:50051 for `pbnj-worker serve`",
    chart: { derivedFrom: "pbnj.enabled" },
    policyTest: true,
  }),
  pbnjAuth: setting(z.enum(["auto", "none"]).prefault("auto"), {
    description:
      "Who can call PBnJ's API: auto requires a token or client certificate beyond loopback, none allows everyone",
    chart: { value: "pbnj.auth" },
  }),
  pbnjJwtSecretFile: setting(Text.optional(), {
    description:
      "File with the secrets that sign the JSON Web Tokens of callers with HS256, one per line; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.jwtSecretSecret" },
  }),
  pbnjJwtKeyFile: setting(Text.optional(), {
    description:
      "PEM public keys or JSON Web Key Set of the issuer of callers' JSON Web Tokens (RS256, ES256, EdDSA); reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.jwtKeySecret" },
  }),
  pbnjJwtIssuer: setting(Text.optional(), {
    description: "Issuer (`iss`) that tokens must have",
    type: "text",
    defaultText: "any",
    chart: { derivedFrom: "pbnj.issuer" },
  }),
  pbnjJwtAudience: setting(Text.optional(), {
    description: "Audience (`aud`) that tokens must have",
    type: "text",
    defaultText: "any",
    chart: { derivedFrom: "pbnj.audience" },
  }),
  pbnjCertFile: setting(Text.optional(), {
    description: "PEM certificate, with its chain, for TLS on PBnJ's API; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.tlsSecret" },
  }),
  pbnjKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "pbnj.tlsSecret" },
  }),
  pbnjClientCaFile: setting(Text.optional(), {
    description:
      "PEM certificates of the authorities for client certificates that can call PBnJ's API; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.clientCaSecret" },
  }),
  pbnjImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action for a request of PBnJ's API; must contain {action}",
    type: "image",
    chart: { derivedFrom: "pbnj.image" },
    policyTest: true,
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly agentId: readonly string[];
  readonly shard: { readonly of: number } | undefined;
};

const SERVED = {
  address: "pbnjAddress",
  auth: "pbnjAuth",
  tokens: ["pbnjJwtKeyFile", "pbnjJwtSecretFile"],
  certificate: "pbnjCertFile",
  key: "pbnjKeyFile",
  ca: "pbnjClientCaFile",
  risk: "control machines",
} as const;

const rules: readonly CrossCheck<Given>[] = [
  {
    settings: ["shard", "pbnjAddress"],
    not: ["run", "serve"],
    broken: ({ shard, pbnjAddress }) => pbnjAddress !== undefined && shard !== undefined && shard.of > 1,
    message: "cannot be used with {pbnjAddress}: requests to PBnJ's API are for machines of all shards",
  },
  {
    settings: ["agentId", "pbnjAddress"],
    not: ["run"],
    broken: ({ agentId, pbnjAddress }) => pbnjAddress !== undefined && agentId.includes(PBNJ_AGENT_ID),
    message: `holds ${PBNJ_AGENT_ID}, which is reserved for PBnJ's API: choose another one`,
  },
  ...addressRules(SERVED),
  ...(["pbnjJwtIssuer", "pbnjJwtAudience"] as const).map(
    (name): CrossCheck<Given> => ({
      settings: [name, "pbnjJwtKeyFile", "pbnjJwtSecretFile"],
      broken: (given) =>
        given[name] !== undefined &&
        given.pbnjJwtKeyFile === undefined &&
        given.pbnjJwtSecretFile === undefined,
      message: "has no effect without tokens: set {pbnjJwtKeyFile} or {pbnjJwtSecretFile}",
    }),
  ),
];

/** The files that protect PBnJ's API. Without any of them, it is plaintext and open to everyone. */
export interface ApiFiles extends TlsFiles {
  readonly jwtSecret?: SecretFile | undefined;
  readonly jwtKeys?: NamedText | undefined;
}

interface PbnjConfig {
  readonly address: ListenAddress;
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  readonly files: ApiFiles;
  readonly allowUnauthenticated: boolean;
  /** Required issuer of tokens. */
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
}

export interface PbnjPart {
  /** Absent if PBnJ's API is not served. */
  readonly pbnj?: PbnjConfig;
}

function config(given: Given, loading: Loading): PbnjPart {
  const { pbnjAddress: address, pbnjImage: image, pbnjJwtIssuer, pbnjJwtAudience } = given;
  if (!address || loading.command === "run") return {};
  const allowUnauthenticated = given.pbnjAuth === "none";
  return {
    pbnj: {
      address,
      image,
      allowUnauthenticated,
      files: readApiFiles(given, loading),
      issuer: pbnjJwtIssuer,
      audience: pbnjJwtAudience,
    },
  };
}

function readApiFiles(given: Given, { read }: Loading): ApiFiles {
  const jwtSecret = read("pbnjJwtSecretFile", given.pbnjJwtSecretFile, (text, path) => {
    parseJwtSecrets(text);
    return { path, text: new Secret(text) };
  });
  const jwtKeys = read("pbnjJwtKeyFile", given.pbnjJwtKeyFile, (text, path) => {
    parseJwtPublicKeys(text);
    return { path, text };
  });
  return { jwtSecret, jwtKeys, ...readTlsFiles(SERVED, given, read) };
}

export const pbnjSettings = {
  group: "PBnJ API",
  not: ["run"],
  settings,
  rules,
  concerns: addressConcerns(SERVED),
  images: {
    settings: ["pbnjAddress", "pbnjImage"],
    of: ({ pbnjAddress, pbnjImage: image }) =>
      pbnjAddress ? [{ image, use: "does what PBnJ's API is asked for" }] : [],
  },
  config,
} satisfies ConfigPart<Given>;
