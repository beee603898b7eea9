package olm_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/olm"
)

var rewrite = flag.Bool("rewrite", false, "rewrite what the commands print in testdata")

// Each file in testdata has the objects of a namespace, and what commands print about them.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(string(content), "\n# $ ")
			state := stateOf(t, parts[0])
			written := parts[0]
			for _, part := range parts[1:] {
				command, _, _ := strings.Cut(part, "\n")
				written += "\n# $ " + command + "\n" + quoted(printed(t, state, command))
			}
			if written = strings.TrimSuffix(written, "\n") + "\n"; *rewrite {
				if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if written != string(content) {
				t.Errorf("%s: -rewrite writes\n%s", file, written)
			}
		})
	}
}

// printed returns what a command prints: status, or explain NAME.
func printed(t *testing.T, state *olm.State, command string) string {
	t.Helper()
	var out bytes.Buffer
	if command == "status" {
		if err := state.Bill().Text(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	answer, err := state.Why(strings.TrimPrefix(command, "explain "))
	if err != nil {
		return err.Error() + "\n"
	}
	if err := answer.Text(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func quoted(text string) string {
	return strings.ReplaceAll("# "+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n# "), "# \n", "#\n") + "\n"
}

// stateOf reads the objects of a namespace. A ConfigMap has what may not be read.
func stateOf(t *testing.T, manifests string) *olm.State {
	t.Helper()
	state := &olm.State{Namespace: "caches"}
	for _, one := range strings.Split(manifests, "\n---\n") {
		object := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON([]byte(one))
		if err == nil {
			err = object.UnmarshalJSON(text)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, one)
		}
		if object.GetNamespace() == "" {
			object.SetNamespace("caches")
		}
		switch object.GetKind() {
		case "Subscription":
			state.Subscriptions = append(state.Subscriptions, decoded[olm.Subscription](t, object))
		case "InstallPlan":
			state.Plans = append(state.Plans, decoded[olm.InstallPlan](t, object))
		case "ClusterServiceVersion":
			state.Versions = append(state.Versions, decoded[olm.Version](t, object))
		case "CatalogSource":
			state.Catalogs = append(state.Catalogs, decoded[olm.Catalog](t, object))
		case "OperatorGroup":
			state.Groups = append(state.Groups, decoded[olm.Group](t, object))
		case "ClusterExtension":
			state.Extensions = append(state.Extensions, decoded[olm.Extension](t, object))
		case "ClusterCatalog":
			object.SetNamespace("")
			state.ClusterCatalogs = append(state.ClusterCatalogs, decoded[olm.ClusterCatalog](t, object))
		case "PackageManifest":
			state.Packages = append(state.Packages, decoded[olm.Package](t, object))
		case "ConfigMap":
			state.Lacks = append(state.Lacks, object.GetName())
		default:
			state.Workloads = append(state.Workloads, object)
		}
	}
	return state
}

func decoded[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	one, err := olm.Decode[T](object)
	if err != nil {
		t.Fatal(err)
	}
	return *one
}
