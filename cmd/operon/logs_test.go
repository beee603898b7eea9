package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

// `operon logs` is about deployed operators. Its error for one that only `operon up` runs names the log of that one.
func TestLogsNameTheLogOfUp(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("OPERON_HOME", home)
	missing := error(&deploy.NotDeployedError{})
	if err := withLogOfUp(missing, dir); !errors.Is(err, missing) || strings.Contains(err.Error(), "operon up") {
		t.Errorf("without a log of up: %v", err)
	}
	sum := sha256.Sum256([]byte(dir))
	log := filepath.Join(home, "up", hex.EncodeToString(sum[:])[:12], "operator.log")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := withLogOfUp(missing, dir); !errors.Is(err, missing) || !strings.HasSuffix(err.Error(), "`operon up` wrote the log of its operator to "+log) {
		t.Errorf("with a log of up: %v", err)
	}
	other := errors.New("other")
	if err := withLogOfUp(other, dir); err.Error() != "other" {
		t.Errorf("another error: %v", err)
	}
}
