package rbacusage_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/rbacusage"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/testing/scenario"
	"github.com/operon-framework/operon/internal/tools/project"
)

// story is the input part of a scenario file.
type story struct {
	Why string `json:"why"`
	// Requests are lines of the form METHOD path?query. They end with 403 if the request was rejected, and with "created" for 201.
	Requests    []string         `json:"requests"`
	Namespaces  []string         `json:"namespaces"`
	Children    []map[string]any `json:"children"`
	Definitions []map[string]any `json:"definitions"`
	Narrow      bool             `json:"narrow"`
	Varying     []string         `json:"varying"`
	// Roles are the declared Roles. Scope is "namespace" if the binding is for one namespace.
	Roles []struct {
		Scope project.Scope  `json:"scope"`
		Role  map[string]any `json:"role"`
		Bound string         `json:"bound"` // a ClusterRole that is not part of the project
	} `json:"roles"`
	// File contains more Roles, for the whole cluster.
	File string `json:"file"`
	// Few means that the runs did not show enough to report unused permissions.
	Few bool `json:"few"`
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 12, play)
}

func play(t *testing.T, given string) string {
	t.Helper()
	var s story
	if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
		t.Fatal(err)
	}
	needed := rbacusage.Needed(s.requests(), rbacusage.Options{
		Namespaces: s.Namespaces, Children: objects(s.Children), Definitions: objects(s.Definitions), Narrow: s.Narrow, Varying: s.Varying,
	})
	role, err := needed.YAML("operator")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.Write(role)
	declared, err := rbacusage.Of(s.grants(t))
	if err != nil {
		fmt.Fprintf(&text, "error: %v\n", err)
	}
	for _, f := range rbacusage.Findings(needed, declared, !s.Few) {
		fmt.Fprintf(&text, "%s: %s\n", f.Property, f.Message)
	}
	for _, note := range rbacusage.Notes(needed, declared) {
		fmt.Fprintf(&text, "note: %s\n", note)
	}
	return text.String()
}

func (s story) requests() []requestlog.Request {
	var all []requestlog.Request
	for _, line := range s.Requests {
		words := strings.Fields(line)
		r := requestlog.Of(httptest.NewRequest(words[0], words[1], nil))
		if r.Verb == "create" && r.Name == "" {
			r.Name = "made" // the name in the body
		}
		r.Served, r.Status = 200, 200
		if len(words) > 2 {
			r.Served, r.Status = 403, 403
		}
		if len(words) > 2 && words[2] == "created" {
			r.Served, r.Status = 201, 201
		}
		all = append(all, r)
	}
	return all
}

func (s story) grants(t *testing.T) []project.Grant {
	t.Helper()
	var all []project.Grant
	for _, role := range s.Roles {
		grant := project.Grant{Scope: role.Scope, Kind: "ClusterRole", Name: role.Bound}
		if role.Role != nil {
			object := &unstructured.Unstructured{Object: role.Role}
			grant.Role, grant.Kind, grant.Name = project.Object{Unstructured: object}, object.GetKind(), object.GetName()
		}
		all = append(all, grant)
	}
	if s.File == "" {
		return all
	}
	roles, err := project.ReadFile(filepath.Dir(s.File), filepath.Base(s.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		all = append(all, project.Grant{Role: role, Kind: role.GetKind(), Name: role.GetName(), Scope: project.ClusterScope})
	}
	return all
}

func objects(fields []map[string]any) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range fields {
		all = append(all, &unstructured.Unstructured{Object: object})
	}
	return all
}
