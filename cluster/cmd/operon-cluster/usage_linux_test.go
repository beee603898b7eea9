package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// burning is a pod that takes what it gets of a processor, which is not much.
var burning = strings.Replace(pod("burns", "burn"), "image: app:1", "image: app:1\n    resources: {requests: {cpu: 100m}, limits: {cpu: 300m}}", 1)

// seesRealUsage looks at what a node of containers tells, of which one does nothing but burn
// processor time, and another waits.
func (h *home) seesRealUsage(t *testing.T) {
	burns := regexp.MustCompile(`(?m)^burns app (\d+)m [1-9]\d*Mi$`)
	waits := regexp.MustCompile(`(?m)^web app (\d+)m [1-9]\d*Mi$`)
	h.await("the one that burns uses more", func(text string) bool {
		return milli(burns, text) > 20 && milli(waits, text) >= 0 && milli(burns, text) > 5*milli(waits, text)
	}, "top", "pods", "--containers", "--no-headers")
	node := regexp.MustCompile(`(?m)^container-0 (\d+)m \d+% [1-9]\d*Mi \d+%$`)
	h.await("the node uses as much", func(text string) bool { return milli(node, text) > 20 }, "top", "nodes", "--no-headers")
	h.must("kubectl", "delete", "pod", "burns", "--now")
	h.await("it is left out when it is gone", showsWithout("web", "burns"), "top", "pods", "--no-headers")
}

// milli is the number that a row shows, or -1 where there is no such row.
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
