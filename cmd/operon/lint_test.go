package main

import (
	"maps"
	"strings"
	"testing"
)

func TestMistakesInCallsOfLint(t *testing.T) {
	t.Parallel()
	wants := map[string]result{
		"lint a b":                  {code: exitFailed, stderr: "operon: want one directory"},
		"lint -o xml":               {code: exitFailed, stderr: "operon: -o xml: want text, json, yaml or sarif"},
		"lint --only rbac-wildcart": {code: exitFailed, stderr: `operon: unknown rule "rbac-wildcart"; ` + "`operon lint --rules` lists them"},
		"lint --skip wildcard":      {code: exitFailed, stderr: `operon: unknown rule "wildcard" (did you mean rbac-wildcard?)`},
		"lint /nowhere":             {code: exitFailed, stderr: "operon: directory /nowhere does not exist; name the directory of an operator project\n"},
		"lint ../../internal/tools/doctor/testdata": {code: exitFailed, stderr: "internal/tools/doctor/testdata is not an operator project: it has neither a go.mod nor a watches.yaml; name the directory that holds one of them\n"},
	}
	for call, got := range each(t, asOperonIn(t), maps.Keys(wants)) {
		if want := wants[call]; got.code != want.code || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestLintListsItsRules(t *testing.T) {
	t.Parallel()
	if got := operon(t, "lint", "--rules"); got.code != 0 || !strings.Contains(got.stdout, "rbac-wildcard         error\n") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
