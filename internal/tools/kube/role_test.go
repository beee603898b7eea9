package kube_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
)

func TestReadRole(t *testing.T) {
	t.Parallel()
	role := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Role", "metadata": map[string]any{"name": "r"}, "rules": []any{map[string]any{"verbs": []any{"get"}, "nonResourceURLs": []any{"/x"}}},
	}}
	read, err := kube.ReadRole(role)
	if err != nil || len(read.Rules) != 1 || read.Rules[0].NonResourceURLs[0] != "/x" {
		t.Errorf("%v, %v", read, err)
	}
	role.Object["rules"] = "all"
	if _, err := kube.ReadRole(role); err == nil || !strings.HasPrefix(err.Error(), "decode Role r: ") {
		t.Errorf("%v", err)
	}
}
