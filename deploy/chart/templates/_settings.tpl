{{/* The worker's configuration file. */}}
{{- define "pbnj-worker.settings" -}}
{{- $root := . -}}
{{- $settings := dict "runtime" .Values.runtime.kind "shutdownGrace" (include "pbnj-worker.shutdownGrace" .) "stopGrace" .Values.stopGrace -}}
{{- $host := .Values.service.host -}}
{{- if .Values.tink.address -}}
{{- $_ := merge $settings (dict "grpcServer" .Values.tink.address "grpcApi" .Values.tink.api "agentIdPattern" .Values.agentIdPattern "wakeUp" (include "pbnj-worker.choice" .Values.wakeUp)) -}}
{{- end -}}
{{- $urlHost := ternary (printf "[%s]" $host) $host (contains ":" $host) -}}
{{- $_ := set $settings "httpAddress" (printf "%s:42180" $urlHost) -}}
{{- with .Values.http -}}
{{- $_ := set $settings "httpAuth" .auth -}}
{{- if .tokenSecret }}{{ $_ := set $settings "httpTokenFile" "http/token" }}{{ end -}}
{{- if .clientCaSecret }}{{ $_ := set $settings "httpClientCaFile" "http/ca.crt" }}{{ end -}}
{{- if .tlsSecret -}}
{{- $_ := set $settings "httpCertFile" "http/tls.crt" -}}
{{- $_ := set $settings "httpKeyFile" "http/tls.key" -}}
{{- end -}}
{{- end -}}
{{- with .Values.pbnj -}}
{{- if .enabled -}}
{{- $_ := merge $settings (dict "pbnjAddress" (printf "%s:50051" $urlHost) "pbnjAuth" .auth "pbnjImage" (include "pbnj-worker.pbnjImage" $root)) -}}
{{- if .jwtKeySecret }}{{ $_ := set $settings "pbnjJwtKeyFile" "pbnj/keys" }}{{ end -}}
{{- if .jwtSecretSecret }}{{ $_ := set $settings "pbnjJwtSecretFile" "pbnj/secret" }}{{ end -}}
{{- with .issuer }}{{ $_ := set $settings "pbnjJwtIssuer" . }}{{ end -}}
{{- with .audience }}{{ $_ := set $settings "pbnjJwtAudience" . }}{{ end -}}
{{- if .clientCaSecret }}{{ $_ := set $settings "pbnjClientCaFile" "pbnj/ca.crt" }}{{ end -}}
{{- if .tlsSecret -}}
{{- $_ := set $settings "pbnjCertFile" "pbnj/tls.crt" -}}
{{- $_ := set $settings "pbnjKeyFile" "pbnj/tls.key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.agentIds }}{{ $_ := set $settings "agentId" . }}{{ end -}}
{{- if .Values.tink.tls.enabled -}}
{{- $_ := set $settings "grpcTls" true -}}
{{- if .Values.tink.tls.insecure }}{{ $_ := set $settings "grpcInsecureTls" true }}{{ end -}}
{{- with .Values.tink.tls.serverName }}{{ $_ := set $settings "grpcServerName" . }}{{ end -}}
{{- if or .Values.tink.tls.ca.configMap .Values.tink.tls.ca.secret }}{{ $_ := set $settings "grpcCaFile" "tink/ca.crt" }}{{ end -}}
{{- if .Values.tink.tls.clientSecret -}}
{{- $_ := set $settings "grpcClientCertFile" "tink/tls.crt" -}}
{{- $_ := set $settings "grpcClientKeyFile" "tink/tls.key" -}}
{{- end -}}
{{- end -}}
{{- if include "pbnj-worker.hasFileInventory" . }}{{ $_ := set $settings "inventory" "inventory.yaml" }}{{ end -}}
{{- if or (include "pbnj-worker.hasGivenPolicy" .) (include "pbnj-worker.hasDefaultPolicy" .) }}{{ $_ := set $settings "policy" "policy.yaml" }}{{ end -}}
{{- with .Values.inventory.kubernetes }}{{ $_ := set $settings "kubernetesInventory" . }}{{ end -}}
{{- if ne .Values.metal3.managed "refuse" }}{{ $_ := set $settings "metal3Managed" .Values.metal3.managed }}{{ end -}}
{{- with .Values.inventory.sources }}{{ $_ := set $settings "kubernetesSources" . }}{{ end -}}
{{- if include "pbnj-worker.usesCluster" . -}}
{{- with .Values.watchNamespace }}{{ $_ := set $settings "watchNamespace" . }}{{ end -}}
{{- end -}}
{{- if include "pbnj-worker.runsJobs" . -}}
{{- with .Values.runtime.pods -}}
{{- $pods := dict "podStartTimeout" .startTimeout "pullPolicy" .pullPolicy "actionUser" .user "memoryLimit" .memoryLimit "cpuLimit" .cpuLimit -}}
{{- with .serviceAccount }}{{ $_ := set $pods "kubernetesServiceAccount" . }}{{ end -}}
{{- with .pullSecrets }}{{ $_ := set $pods "podPullSecrets" . }}{{ end -}}
{{- with .nodeSelector }}{{ $_ := set $pods "podNodeSelector" (include "pbnj-worker.pairs" . | fromYamlArray) }}{{ end -}}
{{- with .tolerations }}{{ $_ := set $pods "podTolerations" (include "pbnj-worker.taints" . | fromYamlArray) }}{{ end -}}
{{- with .annotations }}{{ $_ := set $pods "podAnnotations" (include "pbnj-worker.pairs" . | fromYamlArray) }}{{ end -}}
{{- $labels := merge (include "pbnj-worker.actionLabels" $root | fromYaml) .labels -}}
{{- $_ := set $pods "podLabels" (include "pbnj-worker.pairs" $labels | fromYamlArray) -}}
{{- $_ := merge $settings $pods -}}
{{- end -}}
{{- end -}}
{{- if .Values.rufio.enabled -}}
{{- $_ := set $settings "rufio" true -}}
{{- $_ := set $settings "rufioApi" .Values.rufio.api -}}
{{- $_ := set $settings "rufioImage" (include "pbnj-worker.rufioImage" .) -}}
{{- $_ := set $settings "rufioStatusInterval" .Values.rufio.statusInterval -}}
{{- $_ := set $settings "rufioHardware" .Values.rufio.hardware -}}
{{- $_ := set $settings "rufioAlone" .Values.rufio.alone -}}
{{- with .Values.rufio.leaseNamespace }}{{ $_ := set $settings "rufioLeaseNamespace" . }}{{ end -}}
{{- end -}}
{{- if include "pbnj-worker.elects" . -}}
{{- $_ := set $settings "leaderElection" true -}}
{{- $_ := set $settings "leaderElectionLease" (.Values.leaderElection.lease | default (include "pbnj-worker.fullname" .)) -}}
{{- end -}}
{{- if include "pbnj-worker.isSharded" . }}{{ $_ := set $settings "shard" (printf "auto/%d" (int .Values.shards)) }}{{ end -}}
{{- if include "pbnj-worker.compares" . }}{{ $_ := set $settings "driftImage" (include "pbnj-worker.driftImage" .) }}{{ end -}}
{{- toYaml (merge $settings .Values.config) -}}
{{- end }}

{{/* `name=value` of a map, one a line of a list. */}}
{{- define "pbnj-worker.pairs" -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $name (toString $value)) }}{{ end -}}
{{- toYaml $pairs -}}
{{- end }}

{{/* `key[=value][:effect]` of tolerations. */}}
{{- define "pbnj-worker.taints" -}}
{{- $taints := list -}}
{{- range . -}}
{{- $what := ternary .key (printf "%s=%s" .key (.value | default "")) (eq (.operator | default "Equal") "Exists") -}}
{{- $taints = append $taints (ternary (printf "%s:%s" $what (.effect | default "")) $what (not (empty .effect))) -}}
{{- end -}}
{{- toYaml $taints -}}
{{- end }}
