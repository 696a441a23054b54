import type { V1Container, V1PodSpec, V1Volume } from "@kubernetes/client-node";

const DEFAULT_MODE = 0o644;

/** What the API fills into any Pod specification, in a Pod or in a template, in place. */
export function completePodSpec(spec: V1PodSpec): void {
  for (const volume of spec.volumes ?? []) completeVolume(volume);
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])])
    completeContainer(container);
  spec.terminationGracePeriodSeconds ??= 30;
  spec.dnsPolicy ??= "ClusterFirst";
  spec.securityContext ??= {};
  spec.schedulerName ??= "default-scheduler";
}

/** What only a Pod gets: from its defaults and from the admission plugins. */
export function completePod(spec: V1PodSpec): void {
  spec.restartPolicy ??= "Always";
  spec.enableServiceLinks ??= true;
  spec.preemptionPolicy ??= "PreemptLowerPriority";
  spec.priority ??= 0;
  spec.serviceAccountName ||= "default";
  spec.serviceAccount = spec.serviceAccountName;
  for (const reason of ["not-ready", "unreachable"]) {
    const key = `node.kubernetes.io/${reason}`;
    if (spec.tolerations?.some((toleration) => toleration.key === key && toleration.effect === "NoExecute"))
      continue;
    spec.tolerations ??= [];
    spec.tolerations.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });
  }
}

export function qualityOfService(spec: V1PodSpec): string {
  const lists = (spec.containers ?? []).map(({ resources = {} }) => resources);
  if (lists.every(({ limits = {}, requests = {} }) => Object.keys({ ...limits, ...requests }).length === 0))
    return "BestEffort";
  const guaranteed = lists.every(({ limits = {}, requests = {} }) =>
    ["cpu", "memory"].every((name) => limits[name] !== undefined && requests[name] === limits[name]),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

function completeContainer(container: V1Container): void {
  container.resources ??= {};
  const { limits, requests } = container.resources;
  if (limits) container.resources.requests = { ...limits, ...requests };
  // An empty path counts as absent.
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ??= "File";
  container.imagePullPolicy ??= isLatest(container.image ?? "") ? "Always" : "IfNotPresent";
  for (const port of container.ports ?? []) port.protocol ??= "TCP";
}

function isLatest(image: string): boolean {
  if (image.includes("@")) return false;
  const tag = /:([^:/]+)$/.exec(image)?.[1];
  return tag === undefined || tag === "latest";
}

function completeVolume(volume: V1Volume): void {
  const kinds = Object.keys(volume).filter((field) => field !== "name");
  if (kinds.length === 0) volume.emptyDir = {};
  if (volume.secret) volume.secret.defaultMode ??= DEFAULT_MODE;
  if (volume.configMap) volume.configMap.defaultMode ??= DEFAULT_MODE;
  if (volume.projected) {
    volume.projected.defaultMode ??= DEFAULT_MODE;
    for (const { serviceAccountToken } of volume.projected.sources ?? [])
      if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= 3600;
  }
  if (volume.downwardAPI) volume.downwardAPI.defaultMode ??= DEFAULT_MODE;
  if (volume.hostPath) volume.hostPath.type ??= "";
}
