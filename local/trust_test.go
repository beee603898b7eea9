package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// plantable returns the path of a file in new directories with the given modes, below a trusted directory.
func plantable(t *testing.T, modes ...os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	for _, mode := range modes {
		dir = filepath.Join(dir, "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTrusted(t *testing.T) {
	t.Parallel()
	world, sticky := os.FileMode(0o777), 0o777|os.ModeSticky
	for name, test := range map[string]struct {
		modes []os.FileMode
		want  string
	}{
		"of this user":                         {[]os.FileMode{0o755, 0o775}, ""},
		"in a world-writable directory":        {[]os.FileMode{world}, "is writable by all users"},
		"below a world-writable directory":     {[]os.FileMode{world, 0o755}, "is writable by all users"},
		"in a sticky directory":                {[]os.FileMode{sticky}, "is writable by all users"},
		"in an own directory of a sticky one":  {[]os.FileMode{sticky, 0o755}, ""},
		"in a directory of a group":            {[]os.FileMode{0o775 | os.ModeSetgid}, "is writable by its group"},
		"below a world-writable one in sticky": {[]os.FileMode{sticky, world, 0o755}, "is writable by all users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := plantable(t, test.modes...)
			if test.modes[0]&os.ModeSetgid != 0 {
				if err := os.Chown(filepath.Dir(file), -1, 4242); err != nil {
					testaid.Lacks(t, "only root can give files to other groups")
				}
			}
			err := Trusted(file)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestAFileOfAnotherUserIsNotTrusted(t *testing.T) {
	t.Parallel()
	file := plantable(t, 0o755)
	if err := os.Chown(file, 4242, 4242); err != nil {
		testaid.Lacks(t, "only root can give files to other users")
	}
	if err := Trusted(file); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("%v", err)
	}
}

// A binary that was built with -trimpath contains only the module's path.
func TestACheckoutInTheWorkingDirectoryIsNotASource(t *testing.T) {
	dir := t.TempDir()
	planted := filepath.Join(dir, filepath.FromSlash(clusterModule))
	if err := os.MkdirAll(planted, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(planted, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if found, err := checkoutOf(filepath.FromSlash(modulePath + "/local/fingerprint.go")); err == nil {
		t.Errorf("found %s", found)
	}
	if found, err := checkoutOf(filepath.Join(dir, filepath.FromSlash(modulePath), "local", "fingerprint.go")); err != nil || found != planted {
		t.Errorf("found %q, %v, want %s", found, err, planted)
	}
}
