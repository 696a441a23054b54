{{/* Rules in the worker's own namespace. */}}
{{- define "pbnj-worker.ownRules" -}}
{{- if include "pbnj-worker.runsJobs" . }}
# runtime.kind kubernetes: each action is a Job, which is made suspended, started, followed, acknowledged and removed.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, get, list, watch, patch, delete]
# runtime.kind kubernetes: an action's outcome is what its container said; one that is to stop at once loses its pod.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, delete]
# runtime.kind kubernetes: the action's log.
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# runtime.kind kubernetes: why a pod does not start, such as a Secret that is missing.
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- end }}
{{- if include "pbnj-worker.copiesSecrets" . }}
# runtime.copySecrets: what one Job needs to reach its BMC, which the cluster removes with it. None is ever read or deleted.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- end }}
{{- with .Values.inventory.sources }}
# inventory.sources: the kubeconfigs of other clusters, and when they change.
- apiGroups: [""]
  resources: [secrets]
  resourceNames:
    {{- range . }}
    - {{ .identityRef.name }}
    {{- end }}
  verbs: [list, watch]
{{- end }}
{{- if include "pbnj-worker.elects" . }}
# leaderElection: the first worker creates the Lease.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# leaderElection: the leader renews its Lease, and the others see when they may take it over.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames:
    {{- include "pbnj-worker.leases" . | nindent 4 }}
  verbs: [list, watch, update]
# leaderElection: the leader labels its own pod, which the Service selects. Names of pods are not known before, so that this is for all pods
# here; a worker that may create Jobs gets no more by it.
- apiGroups: [""]
  resources: [pods]
  verbs: [patch]
{{- end }}
{{- end }}

{{/* Rules in the namespace that is watched, or in all of them. */}}
{{- define "pbnj-worker.watchedRules" -}}
{{- if include "pbnj-worker.usesMachines" . }}
# inventory.kubernetes: Machines, and those that Hardware names in its bmcRef.
- apiGroups: [bmc.tinkerbell.org]
  resources: [machines]
  verbs: [list, watch]
{{- end }}
{{- if or (has "hardware" .Values.inventory.kubernetes) (include "pbnj-worker.runsNewJobs" .) }}
# inventory.kubernetes, rufio.api: Hardware.
- apiGroups: [tinkerbell.org]
  resources: [hardware]
  verbs: [list, watch]
{{- end }}
{{- if include "pbnj-worker.usesHosts" . }}
# inventory.kubernetes: BareMetalHosts, whose state is read again at each launch, and the HostClaims that stand for them.
- apiGroups: [metal3.io]
  resources: [baremetalhosts, hostclaims]
  verbs: [get, list, watch]
# inventory.kubernetes: which namespaces' claims may use a host, by name or by label.
- apiGroups: [metal3.io]
  resources: [hostdeploypolicies]
  verbs: [list]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- if eq .Values.metal3.managed "via-host" }}
# metal3.managed: power through spec.online and the reboot annotation.
- apiGroups: [metal3.io]
  resources: [baremetalhosts]
  verbs: [patch]
{{- end }}
{{- end }}
{{- if and (include "pbnj-worker.readsSecrets" .) (or (ne (include "pbnj-worker.watchNamespace" .) "*") (has "*" .Values.inventory.secretNamespaces)) }}
# inventory.kubernetes: credentials that a Job cannot mount, because they are in another namespace or it is the worker itself
# that speaks to a BMC, as it does for the status of Rufio's Machines. Each is asked for by its name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- if and (include "pbnj-worker.usesMachines" .) (include "pbnj-worker.compares" .) }}
# config.driftInterval: events on Machines and Hardware that differ from their desired state.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- if include "pbnj-worker.wakesUp" . }}
# wakeUp: which agent IDs have something to do.
- apiGroups: [tinkerbell.org]
  resources: [workflows]
  verbs: [list, watch]
{{- end }}
{{- if and .Values.rufio.enabled (not (include "pbnj-worker.runsNewJobs" .)) }}
# rufio: the Machine of a Job.
- apiGroups: [bmc.tinkerbell.org]
  resources: [machines]
  verbs: [get]
# rufio: power state and whether the BMC can be reached.
- apiGroups: [bmc.tinkerbell.org]
  resources: [machines/status]
  verbs: [patch]
{{- if .Values.rufio.hardware }}
# rufio.hardware: which Hardware refers to a Machine, and its inventory status.
- apiGroups: [tinkerbell.org]
  resources: [hardware]
  verbs: [list, watch]
- apiGroups: [tinkerbell.org]
  resources: [hardware/status]
  verbs: [patch]
{{- end }}
# rufio: each step of a Job is a Task, which is made, carried out and ended; one that a deleted Job left is taken away.
- apiGroups: [bmc.tinkerbell.org]
  resources: [tasks]
  verbs: [get, list, watch, create, delete]
- apiGroups: [bmc.tinkerbell.org]
  resources: [tasks/status]
  verbs: [patch]
{{- end }}
{{- if .Values.rufio.enabled }}
# rufio: Jobs are carried out, and their end is written down.
- apiGroups: [bmc.tinkerbell.org]
  resources: [jobs]
  verbs: [get, list, watch]
- apiGroups: [bmc.tinkerbell.org]
  resources: [jobs/status]
  verbs: [patch]
{{- end }}
{{- end }}

{{/* Where a Rufio that runs has its Lease. */}}
{{- define "pbnj-worker.leaseNamespace" -}}
{{- .Values.rufio.leaseNamespace | default .Release.Namespace -}}
{{- end }}

{{- define "pbnj-worker.rufioLeaseRules" -}}
{{- if .Values.rufio.enabled }}
# rufio: nothing is done while a Rufio holds its Lease.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [e74dec1a.bmc.tinkerbell.org]
  verbs: [get, list, watch]
{{- end }}
{{- end }}

{{/* A role and its binding, of {root, name, namespace (empty for the cluster), rules}; nothing where there are no rules. */}}
{{- define "pbnj-worker.grant" -}}
{{- if trim .rules }}
{{- $cluster := empty .namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRole" "Role" $cluster }}
metadata:
  name: {{ .name }}
  {{- if not $cluster }}
  namespace: {{ .namespace }}
  {{- end }}
  labels:
    {{- include "pbnj-worker.labels" .root | nindent 4 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" $cluster }}
metadata:
  name: {{ .name }}
  {{- if not $cluster }}
  namespace: {{ .namespace }}
  {{- end }}
  labels:
    {{- include "pbnj-worker.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" $cluster }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "pbnj-worker.serviceAccountName" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}

{{- define "pbnj-worker.credentialRules" -}}
# inventory.secretNamespaces: credentials of Machines, each asked for by its name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
