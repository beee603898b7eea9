package main

import (
	"os"
	"strings"
	"testing"
)

// named are the pods of a StatefulSet, which serve their names.
const named = `
{apiVersion: v1, kind: Service, metadata: {name: named}, spec: {clusterIP: None, selector: {app: named}, ports: [{name: http, port: 8080}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: named}
spec:
  serviceName: named
  replicas: 2
  selector: {matchLabels: {app: named}}
  template:
    metadata: {labels: {app: named}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: app
        image: busybox:1
        command: [httpd, -f, -p, "8080", -h, /etc]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
---`

// services are Services for the pods above, and one without pods.
const services = `
{apiVersion: v1, kind: Service, metadata: {name: spread}, spec: {selector: {app: named}, ports: [{port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: sticky}, spec: {selector: {app: named}, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: of-node}, spec: {type: NodePort, selector: {app: named}, ports: [{port: 80, targetPort: 8080, nodePort: 30081}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: of-this-node}, spec: {type: NodePort, externalTrafficPolicy: Local, selector: {app: named}, ports: [{port: 80, targetPort: 8080, nodePort: 30082}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: other-name}, spec: {type: ExternalName, externalName: named.default.svc.cluster.local}}
---
{apiVersion: v1, kind: Service, metadata: {name: empty}, spec: {selector: {app: nobody}, ports: [{port: 80}]}}
---`

// asks is the script of a pod that connects to them. First, a Service without pods refuses its connection, before the kernel
// has sent the pod any message that is rate limited together with the refusal. With busybox, a timeout of wget would be a
// crash. The components receive the pods of each Service separately, names and rules are updated for one Service after the
// other, and UDP queries may be lost.
const asks = `
until nslookup empty.default.svc.cluster.local; do sleep 0.1; done >/dev/null
until nc -w 20 empty 80 </dev/null 2>&1 | grep -o 'Connection refused'; do sleep 0.1; done
for i in 0 1; do until wget -q -O - http://named-$i.named.default.svc.cluster.local:8080/hostname; do sleep 0.1; done; done 2>/dev/null
for i in 0 1; do wget -q -O - http://named-$i.named:8080/hostname; done
for service in spread sticky 198.18.128.1:30081 198.18.128.1:30082 other-name:8080; do until wget -q -O /dev/null http://$service/hostname; do sleep 0.1; done; done 2>/dev/null
ask() { for i in $(seq 20); do wget -q -O - http://$1/hostname; done | sort -u | wc -l; }
for service in spread 198.18.128.1:30081 198.18.128.1:30082; do until test $(ask $service) = 2; do sleep 0.1; done; done
ask sticky
until nslookup -type=srv _http._tcp.named.default.svc.cluster.local | grep -o '[0-9]* named-.*' | sort | grep .; do sleep 0.1; done
until nslookup nothing.default.svc.cluster.local | grep -o NXDOMAIN | uniq | grep .; do sleep 0.1; done
until nslookup $(nslookup spread.default.svc.cluster.local | grep -o '198.19[0-9.]*' | tail -n 1) | grep -o 'spread.*'; do sleep 0.1; done
`

// names checks that names resolve to Services and to each of their pods, and that Services forward to different pods or, if
// they are sticky, to the same one.
func names(t *testing.T, n *node) {
	n.apply(t, named+services+pod("asks", asks, ""))
	const want = "Connection refused\nnamed-0\nnamed-1\nnamed-0\nnamed-1\n1\n" +
		"8080 named-0.named.default.svc.cluster.local\n8080 named-1.named.default.svc.cluster.local\nNXDOMAIN\nspread.default.svc.cluster.local\n"
	if said := n.says(t, "asks"); said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// ofTheNode checks that a pod in the namespaces of its host is in the node's namespaces, which are not the machine's.
func ofTheNode(t *testing.T, n *node) {
	n.apply(t, strings.Replace(pod("deep", "hostname; grep -o operon0 /proc/net/dev; cut -c 1-11 /proc/1/cmdline | head -n 1; for kind in net pid ipc uts; do readlink /proc/self/ns/$kind; done", ""),
		"spec:", "spec:\n  hostNetwork: true\n  hostPID: true\n  hostIPC: true", 1))
	said := n.says(t, "deep")
	if !strings.HasPrefix(said, "container-0\noperon0\noperon-node\n") {
		t.Errorf("it is not in the node's: %s", said)
	}
	for _, kind := range []string{"net", "pid", "ipc", "uts"} {
		machine, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(said, machine+"\n") || !strings.Contains(said, kind+":[") {
			t.Errorf("it is in %s of the machine's: %s", machine, said)
		}
	}
}
