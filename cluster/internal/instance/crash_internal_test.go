package instance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A cluster whose log was removed can be started again.
func TestCrashWithoutLog(t *testing.T) {
	t.Parallel()
	f := folder{name: "test", path: t.TempDir()}
	if err := os.WriteFile(f.facts(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	reason, err := f.keepCrash()
	if err != nil || !strings.HasSuffix(reason, "it was killed, or its log has no reason") {
		t.Errorf("%q, %v", reason, err)
	}
}

// The reason of a crash is the line in which the program reports it, and not one of the goroutines' lines after it.
func TestCrashReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ log, want string }{
		"a data race": {"I1124 09:00:00.000000       1 a.go:1] ok\nfatal error: concurrent map writes\n\ngoroutine 1 [running]:\npanic: no\n", "fatal error: concurrent map writes"},
		"a panic":     {"panic: assignment to entry in nil map\n", "panic: assignment to entry in nil map"},
		"a component": {"F1124 09:00:00.000000       1 b.go:2] hook failed\n", "hook failed"},
		"a full disk": {`{"level":"fatal","msg":"failed to save Raft entries","error":"no space left on device"}` + "\n", "no space left on device"},
		"a node":      {"operon-cluster: the node ended: kubelet: exit status 1\n", "the node ended: kubelet"},
		"kill -9":     {"I1124 09:00:00.000000       1 a.go:1] ok\n", "it was killed, or its log has no reason; its log is "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := folder{name: "test", path: filepath.Join(t.TempDir(), "test")}
			if err := os.Mkdir(f.path, 0o700); err != nil {
				t.Fatal(err)
			}
			if reason, err := f.keepCrash(); err != nil || reason != "" {
				t.Errorf("a cluster that never served crashed: %q, %v", reason, err)
			}
			for file, content := range map[string]string{f.facts(): "{}", f.log(): test.log} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if reason, err := f.keepCrash(); err != nil || !strings.Contains(reason, test.want) {
				t.Errorf("%q, %v", reason, err)
			}
			if kept, err := os.ReadFile(f.crashLog()); err != nil || string(kept) != test.log {
				t.Errorf("kept is %q, %v", kept, err)
			}
		})
	}
}
