package rbac_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

const user = "system:serviceaccount:ns:op"

// Refusals as operators with several frameworks log them.
var lines = []string{
	`W1121 reflector.go:561] failed to list *v1.Deployment: deployments.apps is forbidden: User "` + user + `" cannot list resource "deployments" in API group "apps" at the cluster scope`,
	`{"level":"error","error":"pods \"a\" is forbidden: User \"` + user + `\" cannot delete resource \"pods\" in API group \"\" in the namespace \"web\""}`,
	`time=now level=ERROR msg="webs.example.com \"a\" is forbidden: User \"` + user + `\" cannot patch resource \"webs/status\" in API group \"example.com\" in the namespace \"web\""`,
	`msg="\\\"` + user + `\\\"" err="User \\\"` + user + `\\\" cannot create resource \\\"pods\\\" in API group \\\"\\\" in the namespace \\\"web\\\""`,
	`forbidden: User "` + user + `" cannot get path "/metrics"`,
}

func TestFindReadsTheSentenceWhereverItStands(t *testing.T) {
	t.Parallel()
	want := []rbac.Refusal{
		{user, rbac.Permission{Verb: "list", Group: "apps", Resource: "deployments"}},
		{user, rbac.Permission{Verb: "delete", Resource: "pods", Namespace: "web"}},
		{user, rbac.Permission{Verb: "patch", Group: "example.com", Resource: "webs/status", Namespace: "web"}},
		{user, rbac.Permission{Verb: "create", Resource: "pods", Namespace: "web"}},
		{user, rbac.Permission{Verb: "get", URL: "/metrics"}},
	}
	for i, line := range lines {
		found := rbac.Find(line)
		if len(found) != 1 || found[0] != want[i] {
			t.Errorf("in %s\nfound %+v", line, found)
		}
	}
	if found := rbac.Find(`the pod "a" cannot be scheduled`); found != nil {
		t.Errorf("found %+v", found)
	}
}

func TestRulesLiftAllThatOneUserWasRefused(t *testing.T) {
	t.Parallel()
	set := rbac.Of(user)
	for i, line := range lines {
		if !set.Add(line) {
			t.Errorf("line %d is not new", i)
		}
		if set.Add(line) {
			t.Errorf("line %d is new a second time", i)
		}
	}
	if set.Add(strings.ReplaceAll(lines[0], "ns:op", "ns:other")) {
		t.Error("it collects for another user")
	}
	var got []string
	for _, rule := range set.Rules() {
		got = append(got, rbac.Lines(rule)...)
	}
	want := `- nonResourceURLs: ["/metrics"]
  verbs: ["get"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["create", "delete"]
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["list", "watch"]
- apiGroups: ["example.com"]
  resources: ["webs/status"]
  verbs: ["patch"]`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestWithAndClear(t *testing.T) {
	t.Parallel()
	set := rbac.Of(user)
	set.Add(lines[0])
	if got := len(set.With(lines[1], lines[0]).All()); got != 2 {
		t.Errorf("with another there are %d", got)
	}
	if got := len(set.All()); got != 1 {
		t.Errorf("the set itself has %d", got)
	}
	set.Clear()
	if got := len(set.All()); got != 0 {
		t.Errorf("after Clear there are %d", got)
	}
}
