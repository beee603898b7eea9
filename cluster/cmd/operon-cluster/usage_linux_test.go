package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// burning is a pod that uses all processor time that its low limit allows, and a Deployment with a sidecar that uses more
// memory than the target of its autoscaler.
var burning = strings.Replace(pod("burns", "burn"), "image: app:1", "image: app:1\n    resources: {requests: {cpu: 100m}, limits: {cpu: 300m}}", 1) + `
apiVersion: apps/v1
kind: Deployment
metadata: {name: grows}
spec:
  selector: {matchLabels: {app: grows}}
  template:
    metadata: {labels: {app: grows}}
    spec:
      terminationGracePeriodSeconds: 5
      initContainers: [{name: beside, image: app:1, args: [serve], restartPolicy: Always}]
      containers: [{name: app, image: app:1, args: [burn], resources: {limits: {cpu: 10m}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: grows}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: grows}
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Ki}}}]
---
`

// seesRealUsage checks the usage that a node of containers reports. One container only uses processor time, and another one
// waits.
func (h *home) seesRealUsage(t *testing.T) {
	burns := regexp.MustCompile(`(?m)^burns app (\d+)m [1-9]\d*Mi$`)
	waits := regexp.MustCompile(`(?m)^web app (\d+)m [1-9]\d*Mi$`)
	h.await("the one that burns uses more", func(text string) bool {
		return milli(burns, text) > 20 && milli(waits, text) >= 0 && milli(burns, text) > 5*milli(waits, text)
	}, "top", "pods", "--containers", "--no-headers")
	node := regexp.MustCompile(`(?m)^container-0 (\d+)m \d+% [1-9]\d*Mi \d+%$`)
	h.await("the node uses as much", func(text string) bool { return milli(node, text) > 20 }, "top", "nodes", "--no-headers")
	h.await("a sidecar is seen", regexp.MustCompile(`(?m)^grows-\S+ beside \d+m [1-9]\d*Mi$`).MatchString, "top", "pods", "--containers", "--no-headers")
	h.must("kubectl", "wait", "deployment/grows", "--for=jsonpath={.spec.replicas}=2", within)
	h.must("kubectl", "delete", "pod/burns", "deployment/grows", "hpa/grows", "--now")
	h.await("it is left out when it is gone", showsWithout("web", "burns"), "top", "pods", "--no-headers")
}

// milli returns the number in a row, or -1 if the row does not exist.
func milli(row *regexp.Regexp, text string) int {
	found := row.FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	number, err := strconv.Atoi(found[1])
	if err != nil {
		return -1
	}
	return number
}
