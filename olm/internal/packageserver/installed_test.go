package packageserver

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

func csvOf(namespace, name, of string) *v1alpha1.ClusterServiceVersion {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	csv.Annotations = map[string]string{"operatorframework.io/properties": fmt.Sprintf(`{"properties":[{"type":"olm.package","value":{"packageName":%q,"version":"1.0.0"}}]}`, of)}
	csv.Spec.Version, csv.Status.Phase = "1.0.0", v1alpha1.PhaseSucceeded
	return csv
}

func groupOf(namespace, name string, selects ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: operatorsv1.OperatorGroupStatus{Namespaces: selects}}
}

// A namespace sees the operators that work in it, whatever namespace they are installed in.
func TestInstalled(t *testing.T) {
	t.Parallel()
	s := &installed{}
	sees := func(want string) {
		t.Helper()
		got := ""
		for _, namespace := range []string{"tenant", "other"} {
			found := s.in(namespace)
			got += fmt.Sprintf("%s: %s, %s; ", namespace, shown(found["tool"]), shown(found["lamp"]))
		}
		if got != want {
			t.Errorf("they see\n%s\nwant\n%s", got, want)
		}
	}
	copied := csvOf("tenant", "tool.v1", "tool")
	copied.Labels = map[string]string{v1alpha1.LabelCopiedFrom: "operators"}
	for _, told := range []bool{
		s.version(csvOf("operators", "tool.v1", "tool")), s.version(csvOf("lamps", "lamp.v1", "lamp")), s.group(groupOf("operators", "all", "")),
		s.group(groupOf("lamps", "one", "tenant")),
	} {
		if !told {
			t.Error("a change is not reported")
		}
	}
	if s.version(copied) || s.version(csvOf("operators", "tool.v1", "tool")) || s.group(groupOf("lamps", "one", "tenant")) {
		t.Error("a copy, or what is known, is reported as a change")
	}
	sees("tenant: tool.v1, lamp.v1; other: tool.v1, ; ")
	s.group(groupOf("lamps", "second", "tenant"))
	sees("tenant: tool.v1, ; other: tool.v1, ; ") // with two groups, the operators of a namespace do not work
	s.noGroup(toolscache.DeletedFinalStateUnknown{Obj: groupOf("lamps", "second")})
	s.noVersion(csvOf("operators", "tool.v1", "tool"))
	sees("tenant: , lamp.v1; other: , ; ")
	if found := s.in("tenant")["lamp"]; len(found) != 1 || found[0].Namespace != "lamps" || found[0].Version != "1.0.0" || found[0].Phase != "Succeeded" {
		t.Errorf("the version is %+v", found)
	}
}
