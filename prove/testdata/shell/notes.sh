#!/usr/bin/env bash
# An operator in shell, around kubectl: for each Note it keeps a ConfigMap of the same name.
#
# Wrong: the ConfigMap has no owner, so that nobody removes it when the Note is deleted.
#
# KUBECTL is the command, kubectl where it is not set: KUBECTL="operon kubectl" does, too.
set -u

command=(${KUBECTL:-kubectl} ${KUBECONFIG:+--kubeconfig="$KUBECONFIG"}) # KUBECTL may be more than one word

kube() { "${command[@]}" "$@"; }

# keep NAMESPACE NAME GENERATION PRIORITY TEXT
keep() {
  kube apply --namespace "$1" --filename - <<YAML || return
apiVersion: v1
kind: ConfigMap
metadata:
  name: "$2"
data:
  priority: "$4"
  text: "$5"
YAML
  kube patch note "$2" --namespace "$1" --subresource status --type merge --patch "{\"status\":{\"observedGeneration\":$3}}"
}

# watch prints a line for each change of a Note, those that are there already first.
watch() {
  exec "${command[@]}" get notes --all-namespaces --watch --output-watch-events --output \
    'jsonpath={.type}{" "}{.object.metadata.namespace}{" "}{.object.metadata.name}{" "}{.object.metadata.generation}{" "}{.object.spec.priority}{" "}{.object.spec.text}{"\n"}'
}

watcher=
trap '[ -z "$watcher" ] || kill "$watcher"' EXIT
trap exit INT TERM
while true; do
  exec 3< <(watch)
  watcher=$!
  while read -r -u 3 type namespace name generation priority text; do
    if [ "$type" = DELETED ]; then
      continue
    fi
    until keep "$namespace" "$name" "$generation" "$priority" "$text"; do
      kube get note "$name" --namespace "$namespace" --output name || break # it is gone
      sleep 0.5
    done
  done
  sleep 0.5 # the watch has ended: begin again
done
