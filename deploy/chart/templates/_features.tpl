{{/* What follows from the values. Each of these is "true" or empty, unless it says otherwise. */}}

{{/* Of auto, on, off, true or false: YAML reads on and off without quotes as true and false. "on", "off" or "auto". */}}
{{- define "pbnj-worker.choice" -}}
{{- get (dict "true" "on" "false" "off") (toString .) | default (toString .) -}}
{{- end }}

{{- define "pbnj-worker.runsJobs" -}}
{{- if eq .Values.runtime.kind "kubernetes" }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.hasFileInventory" -}}
{{- if or .Values.inventory.file .Values.inventory.existing.configMap .Values.inventory.existing.secret }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.hasGivenPolicy" -}}
{{- if or .Values.policy.file .Values.policy.existing.configMap .Values.policy.existing.secret }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.trustsEveryImage" -}}
{{- if eq (toString (get .Values.config "unsafeAnyImage")) "true" }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.sendsAttributes" -}}
{{- if and .Values.tink.address (eq (toString (get .Values.config "agentAttributes")) "true") }}true{{ end -}}
{{- end }}

{{/* Jobs need a policy that says which images receive BMC connections; without one, those beside the worker's own image do. */}}
{{- define "pbnj-worker.hasDefaultPolicy" -}}
{{- if and (include "pbnj-worker.runsJobs" .) (not (include "pbnj-worker.hasGivenPolicy" .)) (not (include "pbnj-worker.trustsEveryImage" .)) }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.defaultPolicy" -}}
{{- $patterns := list (printf "%s*" (regexReplaceAll "[^/]*$" .Values.image.repository "")) -}}
{{- $images := list -}}
{{- if .Values.rufio.enabled }}{{ $images = append $images (include "pbnj-worker.rufioImage" .) }}{{ end -}}
{{- if .Values.pbnj.enabled }}{{ $images = append $images (include "pbnj-worker.pbnjImage" .) }}{{ end -}}
{{- if include "pbnj-worker.compares" . }}{{ $images = append $images (include "pbnj-worker.driftImage" .) }}{{ end -}}
{{- range $images }}{{ $patterns = append $patterns (regexReplaceAll ":[^/]*$" (replace "{action}" "*" .) "") }}{{ end -}}
{{- toYaml (dict "trustedImages" (uniq $patterns)) -}}
{{- end }}

{{/* Jobs of v1alpha2 are for Hardware, and have no Tasks. */}}
{{- define "pbnj-worker.runsNewJobs" -}}
{{- if and .Values.rufio.enabled (eq .Values.rufio.api "v1alpha2") }}true{{ end -}}
{{- end }}

{{/* Rufio's Jobs are for Machines or Hardware: the worker then watches these in any case. */}}
{{- define "pbnj-worker.hasClusterInventory" -}}
{{- if or .Values.inventory.kubernetes .Values.rufio.enabled }}true{{ end -}}
{{- end }}

{{/* Rufio's Jobs are for Machines, and Hardware may name them. */}}
{{- define "pbnj-worker.usesMachines" -}}
{{- if or (has "machines" .Values.inventory.kubernetes) (has "hardware" .Values.inventory.kubernetes) .Values.rufio.enabled }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.usesHosts" -}}
{{- if has "baremetalhosts" .Values.inventory.kubernetes }}true{{ end -}}
{{- end }}

{{/* A namespace, or `*`. */}}
{{- define "pbnj-worker.watchNamespace" -}}
{{- .Values.watchNamespace | default .Release.Namespace -}}
{{- end }}

{{- define "pbnj-worker.watchesElsewhere" -}}
{{- if ne (include "pbnj-worker.watchNamespace" .) .Release.Namespace }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.elects" -}}
{{- $choice := include "pbnj-worker.choice" .Values.leaderElection.enabled -}}
{{- if or (eq $choice "on") (and (eq $choice "auto") (gt (int .Values.replicas) 1)) }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.isSharded" -}}
{{- if gt (int .Values.shards) 1 }}true{{ end -}}
{{- end }}

{{/* The names of the leaders' Leases, one a line of a list. */}}
{{- define "pbnj-worker.leases" -}}
{{- $lease := .Values.leaderElection.lease | default (include "pbnj-worker.fullname" .) -}}
{{- $leases := list -}}
{{- if include "pbnj-worker.isSharded" . -}}
{{- range $shard := until (int .Values.shards) }}{{ $leases = append $leases (printf "%s-%d" $lease $shard) }}{{ end -}}
{{- else -}}
{{- $leases = list $lease -}}
{{- end -}}
{{- toYaml $leases -}}
{{- end }}

{{/* As the worker's `kubernetesConfig` has it: waking up alone is no reason to use a cluster unless it was asked for. */}}
{{- define "pbnj-worker.usesCluster" -}}
{{- $used := or (include "pbnj-worker.runsJobs" .) (include "pbnj-worker.hasClusterInventory" .) (include "pbnj-worker.elects" .) .Values.inventory.sources -}}
{{- if or $used (eq (include "pbnj-worker.choice" .Values.wakeUp) "on") }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.wakesUp" -}}
{{- if and .Values.tink.address (include "pbnj-worker.usesCluster" .) (ne (include "pbnj-worker.choice" .Values.wakeUp) "off") }}true{{ end -}}
{{- end }}

{{/* A pod mounts Secrets of its own namespace, and knows nothing of a file that the worker reads. */}}
{{- define "pbnj-worker.needsCopies" -}}
{{- $elsewhere := and (include "pbnj-worker.hasClusterInventory" .) (or (include "pbnj-worker.watchesElsewhere" .) .Values.inventory.secretNamespaces) -}}
{{- if and (include "pbnj-worker.runsJobs" .) (or (include "pbnj-worker.hasFileInventory" .) (include "pbnj-worker.usesHosts" .) $elsewhere .Values.inventory.sources) }}true{{ end -}}
{{- end }}

{{- define "pbnj-worker.copiesSecrets" -}}
{{- $choice := include "pbnj-worker.choice" .Values.runtime.copySecrets -}}
{{- $wanted := or (eq $choice "on") (and (eq $choice "auto") (include "pbnj-worker.needsCopies" .)) -}}
{{- if and (include "pbnj-worker.runsJobs" .) $wanted }}true{{ end -}}
{{- end }}

{{/* The worker compares machines with their desired state. */}}
{{- define "pbnj-worker.compares" -}}
{{- if get .Values.config "driftInterval" }}true{{ end -}}
{{- end }}

{{/* The worker itself, or a process in its pod, speaks to BMCs. */}}
{{- define "pbnj-worker.reachesBmcs" -}}
{{- if or (not (include "pbnj-worker.runsJobs" .)) .Values.rufio.enabled (include "pbnj-worker.sendsAttributes" .) (include "pbnj-worker.compares" .) }}true{{ end -}}
{{- end }}

{{/*
Jobs mount the Secrets of Machines beside them; the worker reads all others, those of BareMetalHosts after their state, and all
to read machines itself.
*/}}
{{- define "pbnj-worker.readsSecrets" -}}
{{- $itself := or (include "pbnj-worker.reachesBmcs" .) (include "pbnj-worker.usesHosts" .) (include "pbnj-worker.watchesElsewhere" .) -}}
{{- if and (include "pbnj-worker.hasClusterInventory" .) $itself }}true{{ end -}}
{{- end }}

{{/*
What a process or the worker itself runs is known to its state directory alone: one pod at a time is to have it, which a
StatefulSet makes sure of. A Job is found again by its name and labels, so that a Deployment may replace a pod at once. A pod has
its shard by its number, which only pods of a StatefulSet have.
*/}}
{{- define "pbnj-worker.isStateful" -}}
{{- if or (not (include "pbnj-worker.runsJobs" .)) .Values.state.persistence.enabled (include "pbnj-worker.isSharded" .) }}true{{ end -}}
{{- end }}

{{/* Seconds of a duration such as 90, 45s or 1h30m. Rounded up. */}}
{{- define "pbnj-worker.seconds" -}}
{{- $text := toString . -}}
{{- if regexMatch "^[0-9]+$" $text -}}
{{- $text -}}
{{- else -}}
{{- $total := 0.0 -}}
{{- range $part := regexFindAll "[0-9.]+(ms|h|m|s)" $text -1 -}}
{{- $unit := regexFind "[a-z]+$" $part -}}
{{- $size := get (dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001) $unit -}}
{{- $total = addf $total (mulf (float64 (trimSuffix $unit $part)) $size) -}}
{{- end -}}
{{- ceil $total | int -}}
{{- end -}}
{{- end }}

{{/* Jobs go on without the worker, which then lets go of them: waiting for them only holds up an upgrade. */}}
{{- define "pbnj-worker.shutdownGrace" -}}
{{- $default := ternary "30s" "5m" (eq (include "pbnj-worker.runsJobs" .) "true") -}}
{{- ternary $default (toString .Values.shutdownGrace) (eq (toString .Values.shutdownGrace) "") -}}
{{- end }}

{{/* Running actions may end, are then told to, and are reported: as TimeoutStopSec of the systemd unit has it. */}}
{{- define "pbnj-worker.terminationSeconds" -}}
{{- $shutdown := include "pbnj-worker.seconds" (include "pbnj-worker.shutdownGrace" .) | int -}}
{{- $stop := include "pbnj-worker.seconds" .Values.stopGrace | int -}}
{{- add $shutdown $stop 60 -}}
{{- end }}

{{/* How the worker is started: `serve` has no tink server. */}}
{{- define "pbnj-worker.command" -}}
{{- ternary "serve" "start" (and .Values.pbnj.enabled (empty .Values.tink.address)) -}}
{{- end }}

{{/* 42113 is the worker's own default. */}}
{{- define "pbnj-worker.tinkPort" -}}
{{- regexFind ":[0-9]+$" .Values.tink.address | trimPrefix ":" | default "42113" -}}
{{- end }}

{{/* The port of a URL. */}}
{{- define "pbnj-worker.urlPort" -}}
{{- regexFind ":[0-9]+$" (regexFind "^https?://[^/?#]*" .) | trimPrefix ":" | default (ternary "443" "80" (hasPrefix "https:" .)) -}}
{{- end }}

{{/* Ports of BMCs, as a policy has them: those of the values, and those that machines of `inventory.file` name. */}}
{{- define "pbnj-worker.bmcPorts" -}}
{{- $ports := .Values.networkPolicy.bmcPorts -}}
{{- if $ports -}}
{{- $file := fromYaml .Values.inventory.file -}}
{{- $entries := list (get $file "defaults") -}}
{{- if kindIs "slice" (get $file "machines") }}{{ $entries = concat $entries (get $file "machines") }}{{ end -}}
{{- range $entry := $entries -}}
{{- if kindIs "map" $entry -}}
{{- range $provider, $protocol := dict "redfish" "TCP" "amt" "TCP" "ipmi" "UDP" "ipmitool" "UDP" -}}
{{- $options := get $entry $provider -}}
{{- if kindIs "map" $options -}}
{{- with $options.port }}{{ $ports = append $ports (dict "port" . "protocol" $protocol) }}{{ end -}}
{{- if $options.sshHostKey }}{{ $ports = append $ports (dict "port" 22 "protocol" "TCP") }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $service := list "rpc" "homeassistant" "ironic" -}}
{{- $options := get $entry $service -}}
{{- if kindIs "map" $options -}}
{{- with $options.url }}{{ $ports = append $ports (dict "port" (toString . | include "pbnj-worker.urlPort") "protocol" "TCP") }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $texts := list -}}
{{- range $ports }}{{ $texts = append $texts (printf "{port: %d, protocol: %s}" (int .port) .protocol) }}{{ end -}}
{{- printf "[%s]" (join ", " (uniq $texts)) -}}
{{- end -}}
{{- end }}

{{/* An egress rule. Link-local addresses have a cloud's metadata service. */}}
{{- define "pbnj-worker.bmcRule" -}}
- to:
    {{- range .Values.networkPolicy.bmcNetworks }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- else }}
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
    - ipBlock: { cidr: "::/0", except: ["fe80::/10", "fd00:ec2::254/128"] }
    {{- end }}
  {{- with include "pbnj-worker.bmcPorts" . }}
  ports: {{ . }}
  {{- end }}
{{- end }}

{{/* Ports of the trace collectors that `extraEnv` names. */}}
{{- define "pbnj-worker.tracePorts" -}}
{{- $ports := list -}}
{{- range .Values.extraEnv -}}
{{- if and (has .name (list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) .value }}{{ $ports = append $ports (include "pbnj-worker.urlPort" .value | int) }}{{ end -}}
{{- end -}}
{{- toYaml (uniq $ports) -}}
{{- end }}
