import { createPrivateKey, X509Certificate } from "node:crypto";
import { z } from "zod";
import { type Certificate, createKey, createSigningRequest } from "../certificate.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

export const CERTIFICATE_SERVICE = "/redfish/v1/CertificateService";
const ACTIONS = `${CERTIFICATE_SERVICE}/Actions/CertificateService`;

const Names = z.strictObject({
  CommonName: z.string(),
  AlternativeNames: z.array(z.string()).optional(),
  ...Object.fromEntries(
    ["Organization", "OrganizationalUnit", "City", "State", "Country"].map((name) => [
      name,
      z.string().optional(),
    ]),
  ),
  CertificateCollection: z.strictObject({ "@odata.id": z.string() }),
});
const HpeNames = z.strictObject({
  CommonName: z.string(),
  ...Object.fromEntries(
    ["OrgName", "OrgUnit", "City", "State", "Country"].map((name) => [name, z.string().optional()]),
  ),
});
const Installed = z.strictObject({ CertificateString: z.string(), CertificateType: z.string() });
const Replaced = Installed.extend({ CertificateUri: z.strictObject({ "@odata.id": z.string() }) });
const Imported = z.strictObject({ Certificate: z.string() });

/** The certificate of the web server: CertificateService and the manager's collection, or HPE's resource. */
export class SimulatedCertificates implements ResourceService {
  /** The key of the last CSR in PEM. A new certificate must match it. */
  key: string | undefined;
  /**
   * When a new certificate is presented: at once, after the web server restarts by itself, after a reset of the BMC, or
   * never.
   */
  shows: "at-once" | "restarting" | "after-reset" | "never" = "at-once";
  /** Whether alternative names are left out of a CSR. */
  ignoresNames = false;
  /** Called with the certificate for new connections. */
  onShow: (certificate: Certificate) => void = () => undefined;
  /** Called when the web server restarts by itself. */
  onRestart: () => void = () => undefined;
  readonly #managerPath: string;
  readonly #profile: RedfishProfile;
  #request = "";
  #waiting: Certificate | undefined;

  constructor(managerPath: string, profile: RedfishProfile) {
    this.#managerPath = managerPath;
    this.#profile = profile;
  }

  /** Called when the BMC has restarted. */
  restarted(): void {
    if (this.#waiting) this.onShow(this.#waiting);
    this.#waiting = undefined;
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    const { certificates } = this.#profile;
    if (certificates === "none") return undefined;
    if (certificates === "hpe") return this.#hpe(method, path, body);
    const all = `${this.#managerPath}/NetworkProtocol/HTTPS/Certificates`;
    const members = (certificates === "several" ? ["0", "1"] : ["1"]).map((id) => `${all}/${id}`);
    const replaces = certificates !== "post";
    switch (path) {
      case CERTIFICATE_SERVICE: {
        const Actions = {
          "#CertificateService.GenerateCSR": { target: `${ACTIONS}.GenerateCSR` },
          ...(replaces && {
            "#CertificateService.ReplaceCertificate": { target: `${ACTIONS}.ReplaceCertificate` },
          }),
        };
        if (method !== "GET") return methodNotAllowed(method);
        return ok(resource(path, "CertificateService", { Name: "Certificate Service", Actions }));
      }
      case `${ACTIONS}.GenerateCSR`: {
        const { data } = Names.safeParse(body);
        if (method !== "POST") return methodNotAllowed(method);
        if (!data || data.CertificateCollection["@odata.id"] !== all) return wrong("CommonName");
        const CSRString = this.#generate(data.CommonName, data.AlternativeNames);
        return ok({ CSRString, CertificateCollection: { "@odata.id": all } });
      }
      case `${ACTIONS}.ReplaceCertificate`: {
        const { data } = Replaced.safeParse(body);
        if (method !== "POST" || !replaces) return methodNotAllowed(method);
        if (!data || data.CertificateUri["@odata.id"] !== members.at(-1)) return wrong("CertificateUri");
        return this.#install(data.CertificateString, data.CertificateType);
      }
      case all: {
        if (method === "GET") return ok(collection(path, "Certificate", members));
        const { data } = Installed.safeParse(body);
        if (method !== "POST" || replaces) return methodNotAllowed(method);
        return data
          ? this.#install(data.CertificateString, data.CertificateType)
          : wrong("CertificateString");
      }
      default:
        return members.includes(path) && method === "GET"
          ? ok(this.#show(path, path === members.at(-1)))
          : undefined;
    }
  }

  /** Returns the certificate of new connections, for the resource. */
  shown: () => Certificate | undefined = () => undefined;

  #show(path: string, isInUse: boolean) {
    const CertificateString = isInUse ? this.shown()?.cert : "";
    return resource(path, "Certificate", {
      Name: "HTTPS Certificate",
      CertificateType: "PEM",
      CertificateString,
    });
  }

  #hpe(method: string, path: string, body: unknown): Answer | undefined {
    const own = `${this.#managerPath}/SecurityService/HttpsCert`;
    const actions = `${own}/Actions/HpeHttpsCert`;
    switch (path) {
      case own:
        return method === "GET" ? ok(this.#hpeResource(path, actions)) : methodNotAllowed(method);
      case `${actions}.GenerateCSR`: {
        const { data } = HpeNames.safeParse(body);
        if (!data) return wrong("CommonName");
        this.#request = this.#generate(data.CommonName, []);
        return noContent;
      }
      case `${actions}.ImportCertificate`: {
        const { data } = Imported.safeParse(body);
        return data ? this.#install(data.Certificate, "PEM") : wrong("Certificate");
      }
      default:
        return path.startsWith(own) ? notFound(path) : undefined;
    }
  }

  #hpeResource(path: string, actions: string) {
    return {
      "@odata.id": path,
      "@odata.type": "#HpeHttpsCert.v1_0_0.HpeHttpsCert",
      Id: "HttpsCert",
      Name: "HTTPS Certificate",
      CertificateSigningRequest: this.#request,
      Actions: Object.fromEntries(
        ["GenerateCSR", "ImportCertificate"].map((name) => [
          `#HpeHttpsCert.${name}`,
          { target: `${actions}.${name}` },
        ]),
      ),
    };
  }

  #generate(commonName: string, altNames: readonly string[] = []): string {
    this.key = createKey();
    return createSigningRequest({ key: this.key, commonName, altNames: this.ignoresNames ? [] : altNames });
  }

  #install(cert: string, type: string): Answer {
    const isChain = cert.lastIndexOf("-----BEGIN") > 0;
    const types = isChain && this.#profile.certificates !== "pem-only" ? ["PEMchain", "PEM"] : ["PEM"];
    if (!types.includes(type)) return wrong("CertificateType");
    if (this.key === undefined || !fits(cert, this.key)) {
      return refusal(
        400,
        "Contoso.1.0.CertificateInvalid",
        "The certificate does not match the private key.",
      );
    }
    const certificate = { cert, key: this.key };
    if (this.shows === "at-once") this.onShow(certificate);
    else if (this.shows !== "never") this.#waiting = certificate;
    if (this.shows === "restarting") this.onRestart();
    return noContent;
  }
}

function fits(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function wrong(parameter: string): Answer {
  const message = `The value of the parameter ${parameter} is not accepted.`;
  return refusal(400, "Base.1.8.ActionParameterValueFormatError", message);
}
