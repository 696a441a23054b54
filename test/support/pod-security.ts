import type { V1Container, V1PodSpec, V1Volume } from "@kubernetes/client-node";

const ALLOWED_VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const SECCOMP_OF_RESTRICTED = ["RuntimeDefault", "Localhost"];

/**
 * What keeps a Pod out of a namespace that enforces the restricted Pod Security Standard, one entry a check, in the
 * words of the admission plugin. Empty for a Pod that may come in.
 */
export function violationsOfRestricted(spec: V1PodSpec): string[] {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  return [
    hostNamespaces(spec),
    hostPorts(containers),
    privileged(containers),
    privilegeEscalation(containers),
    capabilities(containers),
    volumeTypes(spec.volumes ?? []),
    nonRoot(spec, containers),
    rootUser(spec, containers),
    seccomp(spec, containers),
  ].flatMap((violation) => violation ?? []);
}

/** The message of a refusal or of a warning, without what came before it. */
export function podSecurityMessage(violations: readonly string[]): string {
  return `PodSecurity "restricted:latest": ${violations.join(", ")}`;
}

function hostNamespaces(spec: V1PodSpec): string | undefined {
  const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name] === true);
  if (shared.length === 0) return undefined;
  return `host namespaces (${shared.map((name) => `${name}=true`).join(", ")})`;
}

function hostPorts(containers: readonly V1Container[]): string | undefined {
  const using = containers.filter(({ ports = [] }) => ports.some(({ hostPort }) => hostPort));
  if (using.length === 0) return undefined;
  const ports = using.flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => hostPort ?? []));
  const [uses, noun] = [using.length === 1 ? "uses" : "use", ports.length === 1 ? "hostPort" : "hostPorts"];
  return `hostPort (${named(using)} ${uses} ${noun} ${ports.join(", ")})`;
}

function privileged(containers: readonly V1Container[]): string | undefined {
  const bad = containers.filter(({ securityContext }) => securityContext?.privileged === true);
  return bad.length === 0
    ? undefined
    : `privileged (${named(bad)} must not set securityContext.privileged=true)`;
}

function privilegeEscalation(containers: readonly V1Container[]): string | undefined {
  const bad = containers.filter(({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  return `allowPrivilegeEscalation != false (${named(bad)} must set securityContext.allowPrivilegeEscalation=false)`;
}

function capabilities(containers: readonly V1Container[]): string | undefined {
  const keeping = containers.filter(
    ({ securityContext }) => !securityContext?.capabilities?.drop?.includes("ALL"),
  );
  const added = (container: V1Container) =>
    (container.securityContext?.capabilities?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE");
  const adding = containers.filter((container) => added(container).length > 0);
  if (keeping.length === 0 && adding.length === 0) return undefined;
  const parts: string[] = [];
  if (keeping.length > 0) parts.push(`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0) {
    const names = [...new Set(adding.flatMap(added))].sort().map((name) => JSON.stringify(name));
    parts.push(`${named(adding)} must not include ${names.join(", ")} in securityContext.capabilities.add`);
  }
  return `unrestricted capabilities (${parts.join("; ")})`;
}

function volumeTypes(volumes: readonly V1Volume[]): string | undefined {
  const bad = volumes.flatMap((volume) => {
    const kind = Object.keys(volume).find((field) => field !== "name");
    return kind === undefined || ALLOWED_VOLUMES.includes(kind) ? [] : [{ name: volume.name, kind }];
  });
  if (bad.length === 0) return undefined;
  const kinds = [...new Set(bad.map(({ kind }) => JSON.stringify(kind)))];
  const names = bad.map(({ name }) => JSON.stringify(name)).join(", ");
  const [noun, verb, types] = bad.length === 1 ? ["volume", "uses", "type"] : ["volumes", "use", "types"];
  return `restricted volume types (${noun} ${names} ${verb} restricted volume ${kinds.length === 1 ? "type" : types} ${kinds.join(", ")})`;
}

function nonRoot(spec: V1PodSpec, containers: readonly V1Container[]): string | undefined {
  const pod = spec.securityContext?.runAsNonRoot;
  const refusing = containers.filter(({ securityContext }) => securityContext?.runAsNonRoot === false);
  const silent = containers.filter(({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  const setters = [...(pod === false ? ["pod"] : []), ...(refusing.length > 0 ? [named(refusing)] : [])];
  if (setters.length > 0)
    return `runAsNonRoot != true (${setters.join(" and ")} must not set securityContext.runAsNonRoot=false)`;
  if (pod === true || silent.length === 0) return undefined;
  return `runAsNonRoot != true (pod or ${named(silent)} must set securityContext.runAsNonRoot=true)`;
}

function rootUser(spec: V1PodSpec, containers: readonly V1Container[]): string | undefined {
  const bad = containers.filter(({ securityContext }) => securityContext?.runAsUser === 0);
  const setters = [
    ...(spec.securityContext?.runAsUser === 0 ? ["pod"] : []),
    ...(bad.length > 0 ? [named(bad)] : []),
  ];
  return setters.length === 0 ? undefined : `runAsUser=0 (${setters.join(" and ")} must not set runAsUser=0)`;
}

function seccomp(spec: V1PodSpec, containers: readonly V1Container[]): string | undefined {
  const pod = spec.securityContext?.seccompProfile?.type;
  const typeOf = ({ securityContext }: V1Container) => securityContext?.seccompProfile?.type;
  const isBad = (type: string | undefined) => type !== undefined && !SECCOMP_OF_RESTRICTED.includes(type);
  const bad = containers.filter((container) => isBad(typeOf(container)));
  const silent = containers.filter((container) => typeOf(container) === undefined);
  const setters = [...(isBad(pod) ? ["pod"] : []), ...(bad.length > 0 ? [named(bad)] : [])];
  if (setters.length > 0) {
    const types = [...new Set([...(isBad(pod) ? [pod] : []), ...bad.map(typeOf)])];
    const list = types.map((type) => JSON.stringify(type)).join(", ");
    return `seccompProfile (${setters.join(" and ")} must not set securityContext.seccompProfile.type to ${list})`;
  }
  if (pod !== undefined || silent.length === 0) return undefined;
  return `seccompProfile (pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`;
}

function named(containers: readonly V1Container[]): string {
  const noun = containers.length === 1 ? "container" : "containers";
  return `${noun} ${containers.map(({ name }) => JSON.stringify(name)).join(", ")}`;
}
