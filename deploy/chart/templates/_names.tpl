{{/* Not .Chart.Name: a chart under an alias has another one, and the alert rules say job="pbnj-worker". */}}
{{- define "pbnj-worker.name" -}}
pbnj-worker
{{- end }}

{{/* Short enough for what Kubernetes puts behind a StatefulSet's name (a hash, in a label of 63 characters). */}}
{{- define "pbnj-worker.fullname" -}}
{{- $name := .Values.nameOverride | default (include "pbnj-worker.name" .) -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $default | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* ClusterRoles are of all namespaces. */}}
{{- define "pbnj-worker.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "pbnj-worker.fullname" .) -}}
{{- end }}

{{- define "pbnj-worker.chart" -}}
{{- printf "pbnj-worker-%s" .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "pbnj-worker.labels" -}}
{{- include "pbnj-worker.labelsWith" (dict "root" . "extra" dict) -}}
{{- end }}

{{- define "pbnj-worker.ownLabels" -}}
helm.sh/chart: {{ include "pbnj-worker.chart" . }}
{{ include "pbnj-worker.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: tinkerbell
{{- end }}

{{/* Labels of {root, extra}. The chart's own take precedence over those of the values. */}}
{{- define "pbnj-worker.labelsWith" -}}
{{- toYaml (merge (include "pbnj-worker.ownLabels" .root | fromYaml) (deepCopy .extra) (deepCopy .root.Values.commonLabels)) -}}
{{- end }}

{{- define "pbnj-worker.selectorLabels" -}}
app.kubernetes.io/name: {{ include "pbnj-worker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: worker
{{- end }}

{{/* Of the one Service whose pods are all scraped. */}}
{{- define "pbnj-worker.scrapedLabel" -}}
pbnj-worker/scraped: "true"
{{- end }}

{{/* Not the worker's: the Service must not select the pod of `helm test`. */}}
{{- define "pbnj-worker.testLabels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/component" "test") (include "pbnj-worker.labels" . | fromYaml)) -}}
{{- end }}

{{/* What the pods of this release's actions have, and nothing else: their NetworkPolicy selects by it. */}}
{{- define "pbnj-worker.actionLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: bmc-action
{{- end }}

{{- define "pbnj-worker.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "pbnj-worker.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{- define "pbnj-worker.image" -}}
{{- $tag := .Values.image.tag | default (printf "v%s" .Chart.AppVersion) -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end }}

{{- define "pbnj-worker.rufioImage" -}}
{{- .Values.rufio.image | default (include "pbnj-worker.actionImage" .) -}}
{{- end }}

{{- define "pbnj-worker.pbnjImage" -}}
{{- .Values.pbnj.image | default (include "pbnj-worker.actionImage" .) -}}
{{- end }}

{{- define "pbnj-worker.driftImage" -}}
{{- get .Values.config "driftImage" | default (include "pbnj-worker.actionImage" .) -}}
{{- end }}

{{/* A release publishes the images of worker and actions in the same place. */}}
{{- define "pbnj-worker.actionImage" -}}
{{- printf "%s{action}:v{version}" (regexReplaceAll "[^/]*$" .Values.image.repository "") -}}
{{- end }}
