package main

import (
	"strings"
	"testing"
)

func TestMistakesInCallsOfDoctor(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]result{
		"doctor a b":                                  {code: exitUsage, stderr: "operon: want one folder"},
		"doctor -o yaml":                              {code: exitUsage, stderr: "operon: -o yaml: want text, json or sarif"},
		"doctor --only rbac-wildcart":                 {code: exitUsage, stderr: `operon: unknown rule "rbac-wildcart"; ` + "`operon doctor --rules` lists them"},
		"doctor --skip wildcard":                      {code: exitUsage, stderr: `operon: unknown rule "wildcard" (did you mean rbac-wildcard?)`},
		"doctor /nowhere":                             {code: exitFailed, stderr: "operon: there is no folder /nowhere; name the folder of an operator project\n"},
		"doctor ../../internal/tools/doctor/testdata": {code: exitFailed, stderr: "internal/tools/doctor/testdata is no operator project: it has no go.mod; name the folder that holds the operator's go.mod\n"},
	} {
		got := operon(t, strings.Fields(call)...)
		if got.code != want.code || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestDoctorListsItsRules(t *testing.T) {
	t.Parallel()
	if got := operon(t, "doctor", "--rules"); got.code != 0 || !strings.Contains(got.stdout, "rbac-wildcard         error\n") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
