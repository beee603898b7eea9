package build_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// withRoles copies a project that has Ansible roles and the layout of Operator SDK.
func withRoles(t *testing.T) string {
	t.Helper()
	if known, err := exec.CommandContext(t.Context(), "apt-cache", "show", "ansible").Output(); err != nil || len(known) == 0 {
		testaid.Lacks(t, "apt on this machine, if there is one, knows of no package ansible")
	}
	dir := filepath.Join(t.TempDir(), "kiosk")
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/ansible-sdk")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The image of an operator with Ansible roles also contains Debian packages. They are packed once, and are in the SBOM.
func TestAnImageWithAnsibleRoles(t *testing.T) {
	t.Parallel()
	dir := withRoles(t)
	one := built(t, dir, build.Options{Version: "1.2.3"})
	var own, others []string
	var users string
	one.each(t, func(name string, file io.Reader) error {
		switch {
		case name == "etc/passwd": // the last layer wins
			content, err := io.ReadAll(file)
			users = string(content)
			return err
		case strings.HasPrefix(name, "opt/ansible/") && !strings.HasSuffix(name, "/"):
			own = append(own, strings.TrimPrefix(name, "opt/ansible/"))
		default:
			others = append(others, name)
		}
		return nil
	})
	slices.Sort(own)
	want := "playbooks/.placeholder requirements.yml roles/kiosk/defaults/main.yml roles/kiosk/files/.placeholder roles/kiosk/handlers/main.yml " +
		"roles/kiosk/meta/main.yml roles/kiosk/tasks/main.yml roles/kiosk/templates/.placeholder roles/kiosk/vars/main.yml watches.yaml"
	if got := strings.Join(own, " "); got != want {
		t.Errorf("the image has %s, want %s", got, want)
	}
	for _, path := range []string{"manager", "usr/bin/python3", "usr/bin/sh", "usr/lib/locale/C.utf8/LC_CTYPE", "usr/lib/python3/dist-packages/ansible_collections/kubernetes/core/MANIFEST.json"} {
		if !slices.Contains(others, path) {
			t.Errorf("the image lacks /%s", path)
		}
	}
	if !strings.Contains(users, "nonroot:x:65532:") {
		t.Errorf("the users are %q", users)
	}
	config := one.config(t).Config
	if config.WorkingDir != "/opt/ansible" || config.User != "65532:65532" || !slices.Contains(config.Env, "HOME=/tmp") {
		t.Errorf("it runs in %q as %q with %q", config.WorkingDir, config.User, config.Env)
	}
	if modules := one.modules(t); !strings.Contains(modules, `"pkg:deb/debian/python3-kubernetes@`) || !strings.Contains(modules, `"pkg:golang/k8s.io/client-go@`) {
		t.Errorf("the SBOM is %s", modules)
	}
	testaid.Edit(t, filepath.Join(dir, "roles/kiosk/defaults/main.yml"), "size: 1", "size: 2")
	var said []string
	next := built(t, dir, build.Options{Version: "1.2.3", Tell: func(doing string) { said = append(said, doing) }})
	if slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "packing") }) {
		t.Errorf("after an edit of a role it does %q", said)
	}
	if next.Image.Descriptor.Digest == one.Image.Descriptor.Digest || next.Platforms[0].Layers[0].Digest != one.Platforms[0].Layers[0].Digest {
		t.Error("after an edit of a role the image is the same, or the packages are not")
	}
	lacksACollection(t, dir)
}

// lacksACollection checks that a collection that the image would not have is reported before anything is compiled. The project was built before: packing
// its Debian packages a second time would take most of the time.
func lacksACollection(t *testing.T, dir string) {
	t.Helper()
	testaid.Edit(t, filepath.Join(dir, "requirements.yml"), "cloud.common", "cloud.rare")
	var said []string
	_, err := build.Run(t.Context(), dir, build.Options{Again: true, Tell: func(doing string) { said = append(said, doing) }})
	if err == nil || !strings.Contains(err.Error(), "requirements.yml: the collection cloud.rare is not part of Debian's package ansible: add it to the project with") {
		t.Errorf("a collection that Debian does not have: %v", err)
	}
	if slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "compiling") }) {
		t.Errorf("it does %q", said)
	}
	testaid.Write(t, filepath.Join(dir, "collections/ansible_collections/cloud/rare/MANIFEST.json"), "{}")
	made, err := build.Run(t.Context(), dir, build.Options{})
	if err != nil {
		t.Fatalf("with the collection in the project: %v", err)
	}
	if err := made.Close(); err != nil {
		t.Error(err)
	}
}

// The packages of this machine are for one platform. Another one is reported before anything is compiled.
func TestAnImageWithAnsibleRolesIsRefused(t *testing.T) {
	t.Parallel()
	dir := withRoles(t)
	other := "linux/arm64"
	if runtime.GOARCH == "arm64" {
		other = "linux/amd64"
	}
	if _, err := build.Run(t.Context(), dir, build.Options{Platforms: []string{other}}); err == nil || !strings.Contains(err.Error(), "the platform "+other+": the operator needs Debian packages") {
		t.Errorf("another platform: %v", err)
	}
}
