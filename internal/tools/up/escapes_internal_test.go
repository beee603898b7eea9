package up

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// The lines that an operator logs often contain text from the cluster, and cannot control the terminal.
func TestLogLinesHaveNoEscapeSequences(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &session{options: Options{Mode: Loop, Stdout: file}, refused: rbac.Of("operator"), wake: make(chan struct{}, 1)}
	s.logged("\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07bad\rgood\u009b2J\x9b2J")
	got, err := os.ReadFile(file.Name())
	if want := "operator | \x1b[31mred\x1b[0m�[2J�]0;title�bad�good�2J�2J\n"; err != nil || string(got) != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}
