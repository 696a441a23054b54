import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Endpoint } from "../../../http/endpoint.ts";
import { readPeerCertificate } from "../../../http/peer-certificate.ts";
import { type CertificateChain, summarize } from "../../../operations/certificate-chain.ts";
import type { HttpsDriver } from "../../../operations/certificate-port.ts";
import { type Identity, identityIn } from "../../../operations/identity.ts";
import { readCertificate } from "../../../operations/secure-boot-key.ts";
import type { SigningRequestNames } from "../../../operations/signing-request.ts";
import type { Unread } from "../../../operations/unread.ts";
import { findNetworkProtocol } from "../resources/network-protocol.ts";
import type { Resources } from "../resources/resources.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { identifying, Link, lenient } from "../service/schema.ts";

const SERVICE = "/redfish/v1/CertificateService";
/** Usually there is one; a second may be a factory certificate. */
const MOST_CERTIFICATES = 8;
const CSR_POLL_MS = 2_000;
/** iLO takes minutes to create a key. */
const LONGEST_CSR_MS = 600_000;

const Action = lenient(z.object({ target: lenient(z.string()) }));
/** CertificateService (DSP0268). */
const CertificateService = z.object({
  Actions: lenient(
    z.object({ "#CertificateService.GenerateCSR": Action, "#CertificateService.ReplaceCertificate": Action }),
  ),
});
const NetworkProtocol = z.object({ HTTPS: lenient(z.object({ Certificates: lenient(Link) })) });
const Certificate = z.object({ CertificateString: identifying(lenient(z.string())) });
const Generated = z.object({ CSRString: z.string() });
const HpeHttpsCert = z.object({
  CertificateSigningRequest: lenient(z.string()),
  Actions: z.object({ "#HpeHttpsCert.GenerateCSR": Action, "#HpeHttpsCert.ImportCertificate": Action }),
});

/** The place where a BMC accepts certificates. */
interface CertificatePlace {
  generate(names: SigningRequestNames): WriteRequest;
  /** Returns the CSR from the answer, or reads it until it exists. */
  generated(answer: unknown, signal: AbortSignal): Promise<string>;
  /** Installs a chain. `asPem` is for a BMC that refuses the type of a chain. */
  install(chain: CertificateChain, signal: AbortSignal): Promise<WriteRequest & { asPem?: WriteRequest }>;
}

/** The certificate of the manager's web server, through CertificateService or HPE's own resource. */
export function redfishHttps(resources: Resources, endpoint: Endpoint): HttpsDriver {
  const { writer, system, log } = resources;
  const find = async (signal: AbortSignal): Promise<CertificatePlace> => {
    const place = (await findStandard(resources, endpoint, signal)) ?? (await findHpe(resources, signal));
    if (!place) throw new BmcError("unsupported", "the BMC takes no certificate for its web server");
    return place;
  };
  return {
    async offered(signal) {
      await find(signal);
      return true;
    },
    async shown(signal) {
      if (endpoint.scheme !== "https") {
        throw new BmcError("unsupported", "the connection has no TLS, so a certificate cannot be verified");
      }
      return summarize((await readPeerCertificate(endpoint, signal)).certificate);
    },
    planGenerate: async (names, signal) => describeWrite((await find(signal)).generate(names)),
    async generate(names, signal) {
      const place = await find(signal);
      const { body } = await writer.write(place.generate(names), signal);
      return place.generated(body, signal);
    },
    async plan(chain, signal) {
      const { body, ...request } = await (await find(signal)).install(chain, signal);
      return describeWrite({ ...request, body: shortened(body) });
    },
    async install(chain, signal) {
      const { asPem, ...request } = await (await find(signal)).install(chain, signal);
      const answer = await writer.attempt(request, signal);
      if (answer.status < 300) return;
      const refused = system.service.refusal(answer, request);
      // Only 400 means that the BMC rejects the body.
      const mayBeType = answer.status === 400 && refused.class !== "busy" && refused.class !== "auth";
      if (!asPem || !mayBeType) throw refused;
      log.debug({ reason: refused.message }, "certificate chain refused, retrying as PEM");
      await writer.write(asPem, signal);
      system.learn("chain-as-pem");
    },
  };
}

/** The body without the certificate, which is long. */
function shortened(body: unknown): unknown {
  const short = (key: string, value: unknown) =>
    key === "CertificateString" || key === "Certificate" ? "PEM" : value;
  return JSON.parse(JSON.stringify(body, short));
}

async function findStandard(
  resources: Resources,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<CertificatePlace | undefined> {
  const { service, behaviour } = resources.system;
  const protocol = await findNetworkProtocol(resources, NetworkProtocol, signal);
  const collection = service.localPath(protocol?.value.HTTPS?.Certificates?.["@odata.id"]);
  if (collection === undefined) return undefined;
  const actions = (await service.find(SERVICE, CertificateService, signal))?.value.Actions;
  const generate = service.localPath(actions?.["#CertificateService.GenerateCSR"]?.target);
  const replace = service.localPath(actions?.["#CertificateService.ReplaceCertificate"]?.target);
  return {
    generate(names) {
      if (generate === undefined) throw new BmcError("unsupported", "the BMC does not generate a CSR");
      const body = {
        CertificateCollection: { "@odata.id": collection },
        ...defined({
          CommonName: names.commonName,
          AlternativeNames: names.alternativeNames,
          Organization: names.organization,
          OrganizationalUnit: names.organizationalUnit,
          City: names.city,
          State: names.state,
          Country: names.country,
        }),
      };
      return { method: "POST", path: generate, body, wantsBody: true };
    },
    async generated(answer) {
      const { data } = Generated.safeParse(answer);
      if (!data) {
        throw new BmcError("protocol", `POST ${generate} answered without a CSR`, { uncertain: true });
      }
      return data.CSRString;
    },
    async install({ pem, size }, installing) {
      const inUse =
        replace === undefined ? undefined : await findInUse(resources, { collection, endpoint }, installing);
      const place = inUse === undefined ? {} : { CertificateUri: { "@odata.id": inUse.path } };
      const identity = { Fingerprint: inUse?.fingerprint ?? "" };
      const targets = inUse?.fingerprint && [
        { what: "the certificate in use", path: inUse.path, identity, identify: certificateIdentity },
      ];
      const request = (CertificateType: string) => ({
        method: "POST" as const,
        targets: targets || undefined,
        path: replace !== undefined && inUse !== undefined ? replace : collection,
        body: { CertificateString: pem, CertificateType, ...place },
      });
      const isChain = size > 1 && behaviour.certificateChains === "PEMchain";
      return isChain ? { ...request("PEMchain"), asPem: request("PEM") } : request("PEM");
    },
  };
}

function certificateIdentity(body: unknown): Identity {
  const { data } = Certificate.safeParse(body);
  return identityIn({ Fingerprint: readCertificate(data?.CertificateString ?? "")?.fingerprint });
}

/** The certificate in use: the only one, or the one of several that the BMC presents. */
async function findInUse(
  { members }: Resources,
  { collection, endpoint }: { readonly collection: string; readonly endpoint: Endpoint },
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly fingerprint?: string | undefined } | undefined> {
  const listed = (await members.list(collection, signal)) ?? [];
  if (listed.length < 2 || endpoint.scheme !== "https") return listed[0] && { path: listed[0].path };
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  const limits = { members: MOST_CERTIFICATES, requests: { left: MOST_CERTIFICATES + 2 }, unread };
  const found = (await members.read(collection, Certificate, signal, limits)) ?? [];
  const { certificate } = await readPeerCertificate(endpoint, signal);
  const base64 = certificate.raw.toString("base64");
  const inUse = found.find(({ value }) => value.CertificateString?.replaceAll(/\s/g, "").includes(base64));
  if (!inUse) throwUnread(gaps, "the certificate in use");
  if (!inUse) throw new BmcError("protocol", `none of the certificates in ${collection} is the one in use`);
  return { path: inUse.path, fingerprint: certificateIdentity(inUse.value).Fingerprint };
}

/** The certificate of iLO 5 without CertificateService (HpeHttpsCert). iLO restarts after importing a certificate. */
async function findHpe(
  { system: { service, clock }, manager }: Resources,
  signal: AbortSignal,
): Promise<CertificatePlace | undefined> {
  const path = `${(await manager.seen(signal)).path}/SecurityService/HttpsCert`;
  const found = await service.find(path, HpeHttpsCert, signal);
  if (!found) return undefined;
  const { Actions: actions, CertificateSigningRequest: before } = found.value;
  const generate = service.localPath(actions["#HpeHttpsCert.GenerateCSR"]?.target);
  const imports = service.localPath(actions["#HpeHttpsCert.ImportCertificate"]?.target);
  return {
    generate({ alternativeNames, ...names }) {
      if (generate === undefined) throw new BmcError("unsupported", "the BMC does not generate a CSR");
      if (alternativeNames?.length) {
        throw new BmcError("unsupported", "the BMC takes no alternative names for a CSR");
      }
      const body = defined({
        CommonName: names.commonName,
        OrgName: names.organization,
        OrgUnit: names.organizationalUnit,
        City: names.city,
        State: names.state,
        Country: names.country,
      });
      return { method: "POST", path: generate, body };
    },
    async generated(_, waiting) {
      const endMs = clock.monotonicMs() + LONGEST_CSR_MS;
      while (clock.monotonicMs() < endMs) {
        const { value } = await service.get(path, HpeHttpsCert, waiting);
        const text = value.CertificateSigningRequest ?? "";
        if (text !== "" && text !== before) return text;
        await clock.sleep(CSR_POLL_MS, waiting);
      }
      throw new BmcError("timeout", `the BMC made no CSR within ${LONGEST_CSR_MS / 1_000} s`, {
        uncertain: true,
      });
    },
    async install({ pem }) {
      if (imports === undefined) throw new BmcError("unsupported", "the BMC imports no certificate");
      return { method: "POST", path: imports, body: { Certificate: pem } };
    },
  };
}
