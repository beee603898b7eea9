package instance

import (
	"strings"
	"testing"
)

func TestCheckSpace(t *testing.T) {
	t.Parallel()
	if err := checkSpace(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := checkSpace("/proc"); err == nil || !strings.Contains(err.Error(), "OPERON_HOME") {
		t.Errorf("a file system without room: %v", err)
	}
}
