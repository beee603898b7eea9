package build_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// withoutGo copies a project that has a chart and the layout of Operator SDK.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "till")
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/helm-sdk")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The image of an operator without Go code contains the program, watches.yaml and the charts, and nothing else from the project. A change
// in a chart changes the image without a compilation.
func TestAnImageOfAnOperatorWithoutGo(t *testing.T) {
	t.Parallel()
	dir := withoutGo(t)
	if err := os.Symlink("all.yaml", filepath.Join(dir, "helm-charts/till/templates/_again.tpl")); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/.helmignore"), "*.env\n")
	testaid.Write(t, filepath.Join(dir, "helm-charts/till/secrets.env"), "PASSWORD=x\n")
	one := built(t, dir, build.Options{Version: "1.2.3"})
	files := one.files(t)
	var own []string
	for name := range files {
		if strings.HasPrefix(name, "opt/helm/") && !strings.HasSuffix(name, "/") {
			own = append(own, strings.TrimPrefix(name, "opt/helm/"))
		}
	}
	slices.Sort(own)
	if want := []string{
		"helm-charts/till/.helmignore", "helm-charts/till/Chart.yaml", "helm-charts/till/templates/NOTES.txt", "helm-charts/till/templates/_again.tpl", "helm-charts/till/templates/all.yaml",
		"helm-charts/till/values.yaml", "watches.yaml",
	}; !slices.Equal(own, want) {
		t.Errorf("the image has %q, want %q", own, want)
	}
	if files["opt/helm/helm-charts/till/templates/_again.tpl"] != testaid.Read(t, filepath.Join(dir, "helm-charts/till/templates/all.yaml")) {
		t.Error("a link within the project is not the file that it leads to")
	}
	config := one.config(t).Config
	if config.WorkingDir != "/opt/helm" || !slices.Equal(config.Entrypoint, []string{"/manager"}) || !slices.Contains(config.Env, "OPERATOR_NAME=till-operator") {
		t.Errorf("it runs %q in %q with %q", config.Entrypoint, config.WorkingDir, config.Env)
	}
	testaid.Edit(t, filepath.Join(dir, "helm-charts/till/values.yaml"), "replicaCount: 1", "replicaCount: 2")
	next := built(t, dir, build.Options{Version: "1.2.3"})
	if !next.Platforms[0].Reused || next.Image.Descriptor.Digest == one.Image.Descriptor.Digest {
		t.Errorf("after an edit of the chart the program is reused: %t, and the image is %s after %s", next.Platforms[0].Reused, next.Image.Descriptor.Digest, one.Image.Descriptor.Digest)
	}
	if value := next.files(t)["opt/helm/helm-charts/till/values.yaml"]; !strings.Contains(value, "replicaCount: 2") {
		t.Errorf("the image has the values %q", value)
	}
}

// Files that the program would reject at its start, or could not find, are reported before anything is compiled.
func TestAnImageOfAnOperatorWithoutGoIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"a field that no engine has": {
			func(t *testing.T, dir string) {
				testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "  chart: helm-charts/till", "  chart: helm-charts/till\n  role: till")
			}, `watches.yaml:6: unknown field "role"`,
		},
		"a chart that is missing": {
			func(t *testing.T, dir string) {
				testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "helm-charts/till", "helm-charts/other")
			}, "watches.yaml:5: load the chart ",
		},
		"a chart outside of the project": {
			func(t *testing.T, dir string) {
				testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "helm-charts/till", "../moved")
				if err := os.Rename(filepath.Join(dir, "helm-charts/till"), filepath.Join(dir, "../moved")); err != nil {
					t.Fatal(err)
				}
			}, "is outside of the project",
		},
		"a link out of the project": {
			func(t *testing.T, dir string) {
				testaid.Write(t, filepath.Join(dir, "../secret.yaml"), "a: b\n")
				if err := os.Symlink("../../../secret.yaml", filepath.Join(dir, "helm-charts/till/secret.yaml")); err != nil {
					t.Fatal(err)
				}
			}, "helm-charts/till/secret.yaml: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := withoutGo(t)
			test.change(t, dir)
			var said []string
			_, err := build.Run(t.Context(), dir, build.Options{Tell: func(doing string) { said = append(said, doing) }})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(said) > 0 {
				t.Errorf("error %v after %q, want %q", err, said, test.want)
			}
		})
	}
}
