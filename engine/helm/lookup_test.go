package helm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
)

// A custom resource whose values are templates cannot look up objects outside of its namespace, unless watches.yaml allows it.
func TestLookupOutsideOfTheNamespace(t *testing.T) {
	t.Parallel()
	const (
		inOther       = `{{ (lookup "v1" "Service" "default" "kubernetes").metadata.name }}`
		listOther     = `{{ len (lookup "v1" "Service" "default" "").items }}`
		clusterScoped = `{{ (lookup "v1" "Namespace" "" "default").metadata.name }}`
		everyNode     = `{{ lookup "v1" "Node" "" "" }}`
		unknown       = `{{ lookup "none.example.com/v1" "None" "default" "a" }}`
		own           = `{{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name | len | lt 1 }}{{ lookup "none.example.com/v1" "None" "" "a" }}`
	)
	for _, test := range []struct{ name, watches, text, want, refused string }{
		{"another namespace", "", inOther, "", `looks up the Service "kubernetes" in the namespace default, which is not that of the release: add it to lookup.namespaces in watches.yaml`},
		{"a list of another namespace", "lookup: {namespaces: [other]}", listOther, "", `looks up the Service "" in the namespace default`},
		{"an unknown kind in another namespace", "lookup: {clusterScoped: true}", unknown, "", `looks up the None "a" in the namespace default`},
		{"a cluster-scoped kind", "lookup: {namespaces: ['*']}", clusterScoped, "", `looks up the Namespace "default", which does not belong to the namespace of the release: set lookup.clusterScoped in watches.yaml`},
		{"all of a cluster-scoped kind", "", everyNode, "", `looks up the Node ""`},
		{"the own namespace", "", own, "truemap[]", ""},
		{"another namespace that is allowed", "lookup: {namespaces: [default]}", inOther, "kubernetes", ""},
		{"all namespaces", "lookup: {namespaces: ['*']}", listOther, "1", ""},
		{"a cluster-scoped kind that is allowed", "lookup: {clusterScoped: true}", clusterScoped, "default", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.Write("watches.yaml", "- group: shop.example.com\n  version: v1\n  kind: Till\n  chart: helm-charts/till\n  "+test.watches+"\n")
			s.Write(template("text.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: {{ tpl .Values.text . | quote }}}\n")
			s.Add("one", map[string]any{"text": test.text})
			s.Start()
			if test.refused == "" {
				s.EventuallyData("text", "text", test.want)
				return
			}
			var ready *metav1.Condition
			s.Eventually("the till to be ready or refused", func(context.Context) error {
				ready = meta.FindStatusCondition(s.StatusOf("one").Conditions, "Ready")
				if ready == nil || ready.Status != metav1.ConditionTrue && ready.Reason == "Progressing" {
					return fmt.Errorf("the condition is %+v", ready)
				}
				return nil
			})
			if ready.Reason != helm.ReasonForbiddenLookup || !strings.Contains(ready.Message, test.refused) {
				t.Errorf("Ready is %s with the reason %s and the message %q, want %s and %q", ready.Status, ready.Reason, ready.Message, helm.ReasonForbiddenLookup, test.refused)
			}
		})
	}
}

func TestBadLookup(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for field, want := range map[string]string{
		"{namespaces: [Prices]}":     `watches.yaml:5: lookup: "Prices" is not the name of a namespace`,
		"{namespaces: ['']}":         `watches.yaml:5: lookup: "" is not the name of a namespace`,
		"{namespace: prices}":        `watches.yaml:5: lookup: `,
		"{clusterScoped: sometimes}": `watches.yaml:5: lookup: `,
	} {
		s.Write("watches.yaml", "- group: shop.example.com\n  version: v1\n  kind: Till\n  chart: helm-charts/till\n  lookup: "+field+"\n")
		watches, err := engine.Read(filepath.Join(s.Project, "watches.yaml"), helm.Engine{})
		s.Must(err)
		_, err = engine.Options(watches)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", field, err, want)
		}
	}
}
