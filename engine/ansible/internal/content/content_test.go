package content_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/engine/ansible/internal/content"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]content.Content{
		"- debug: {msg: hello}":                                           {},
		"- debug: {msg: \"{{ lookup('env', 'HOME') }}\"}":                 {Open: "tasks/main.yml uses lookup('env'"},
		"- debug: {msg: \"{{ query('ansible.builtin.pipe', 'date') }}\"}": {Open: "tasks/main.yml uses query('ansible.builtin.pipe'"},
		"- debug: {msg: \"{{ now() }}\"}":                                 {Open: "tasks/main.yml uses now("},
		"- debug: {msg: \"{{ [1, 2] | random }}\"}":                       {Open: "tasks/main.yml uses | random"},
		"- debug: {msg: \"{{ lookup('template', 'x') }}\"}":               {},
		"- debug: {msg: 1}\n  when: lookup('k8s', kind='Pod')":            {AsksAPI: true},
		"- debug: {msg: 1}\n  when: q('kubernetes.core.k8s', kind='Pod')": {AsksAPI: true},
		"- debug: {msg: \"{{ _group_kind.status }}\"}":                    {Mentions: true},
		"- debug: {msg: \"{{ _group_kind_spec.a }}\"}":                    {},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "tasks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tasks", "main.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := content.Of(dir, []string{filepath.Join(dir, "tasks")}, "_group_kind")
		if err != nil || got.Digest == "" {
			t.Errorf("%s: digest %q, %v", text, got.Digest, err)
		}
		if got.Digest = ""; got != want {
			t.Errorf("%s\nis %+v, want %+v", text, got, want)
		}
	}
}

// Links to directories are followed, also in a circle. Links to nothing are left out.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, link := range [][2]string{{".", "circle"}, {"nothing", "dead"}, {t.TempDir(), "outside"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		found, err := content.Of(dir, []string{dir}, "x")
		if err != nil {
			t.Fatal(err)
		}
		return found.Digest
	}
	before := digest()
	target, err := os.Readlink(filepath.Join(dir, "outside"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, "main.yml"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest() == before {
		t.Error("a file behind a link is not part of the digest")
	}
}
