{{- define "till.labels" -}}
app: {{ .Release.Name }}
{{- end }}
